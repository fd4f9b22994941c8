#include "store/postgres_store.h"

#include <algorithm>

#include "base/check.h"
#include "store/batch_check.h"
#include "store/blob.h"
#include "store/postgres_append.h"
#include "store/postgres_check.h"
#include "store/postgres_facts.h"
#include "store/postgres_forget.h"
#include "store/postgres_migrate.h"
#include "store/postgres_pool.h"

namespace headway::store {
namespace {

using base::Result;
using base::Status;
using Kind = PostgresConnection::Kind;

constexpr std::int64_t rows_at_once = 256;
constexpr std::int64_t bytes_at_once = 8 << 20;  // about

class PostgresStore final : public Store {
 public:
  PostgresStore(PostgresAddress address, PostgresTimeouts timeouts)
      : pool_(std::move(address), timeouts), appender_(pool_) {}
  Status migrate(Purpose purpose) {
    return write([&](PostgresConnection& db) { return migrate_postgres(db, purpose); });
  }

  [[nodiscard]] bool is_shared() const override { return true; }
  Result<std::vector<Appended>> append(std::span<const Append> appends) override {
    return appender_.append(appends);
  }
  Result<std::vector<JobRow>> jobs(const std::string& tenant, std::size_t rows_max) override;
  Result<std::optional<JobRow>> find_job(const std::string& tenant,
                                         const std::string& name) override;
  Result<std::vector<JournalRow>> journals(JobKey job) override;
  Status batches(JobKey job, std::optional<std::uint64_t> attempt, std::int64_t after_seq,
                 const std::function<bool(const BatchRow&)>& take) override;
  Result<std::int64_t> newest_seq(JobKey job) override;
  Status put_facts(std::span<const FactPut> facts) override;
  Status facts(std::int64_t after_change, const std::function<bool(const FactRow&)>& take) override;
  Result<std::optional<AlertRow>> put_alert(AlertRow alert, const std::string& before) override;
  Result<std::vector<AlertRow>> alerts(const std::string& tenant, std::size_t rows_max) override;
  Result<std::uint64_t> forget_batches(std::int64_t heard_before_ns) override {
    return forget(
        [&](PostgresConnection& db) { return store::forget_batches(db, heard_before_ns); });
  }
  Result<std::uint64_t> forget_facts(std::int64_t heard_before_ns) override {
    return forget([&](PostgresConnection& db) { return store::forget_facts(db, heard_before_ns); });
  }
  Status jobs_without_facts(
      std::int64_t heard_before_ns,
      const std::function<void(const std::string&, const std::string&)>& take) override;
  Result<std::vector<Token>> tokens() override;
  Result<bool> has_had_tokens() override;
  Result<Token> add_token(Token token) override;
  Result<bool> remove_token(std::int64_t id) override;
  Result<std::vector<std::string>> check() override;
  Status back_up(const std::string& path) override;

 private:
  using Work = std::function<Status(PostgresConnection&)>;
  Status write(const Work& work);
  Result<std::uint64_t> forget(
      const std::function<Result<std::uint64_t>(PostgresConnection&)>& work);
  // A second time, on another connection, where the first one was lost: `work` must not mind.
  Status read(const Work& work);
  // One question with an answer that is whole.
  Result<PostgresRows> ask(const char* sql, const PostgresParams& params);

  PostgresPool pool_;
  PostgresAppender appender_;
};

Status PostgresStore::write(const Work& work) {
  auto db = pool_.take_to_write();
  if (!db.ok()) return db.status();
  return work(**db);
}

Status PostgresStore::read(const Work& work) {
  for (bool again = true;; again = false) {
    auto db = pool_.take();
    if (!db.ok()) return db.status();
    Status status = work(**db);
    if (status.ok() || !again || !(*db)->is_lost()) return status;
  }
}

Result<PostgresRows> PostgresStore::ask(const char* sql, const PostgresParams& params) {
  PostgresRows out;
  const Status status = read([&](PostgresConnection& db) -> Status {
    auto rows = db.ask(sql, params);
    if (rows.ok()) out = *rows;
    return rows.status();
  });
  if (!status.ok()) return status;
  return out;
}

JobRow job_row(const PostgresRows& rows, int i) {
  return {rows.integer(i, 0), rows.text(i, 1),    rows.text(i, 2),
          rows.integer(i, 3), rows.integer(i, 4), rows.integer(i, 5)};
}

Result<std::vector<JobRow>> PostgresStore::jobs(const std::string& tenant, std::size_t rows_max) {
  PostgresParams params;
  params.add(rows_limit(rows_max));
  if (!tenant.empty()) params.add(std::string_view(tenant));
  auto rows =
      ask(tenant.empty() ? "SELECT key, tenant, name, first_ns, heard_ns, CASE WHEN last_seq > "
                           "forgotten_seq THEN last_seq ELSE 0 END FROM job WHERE last_seq > 0 "
                           "ORDER BY heard_ns DESC, key DESC LIMIT $1"
                         : "SELECT key, tenant, name, first_ns, heard_ns, CASE WHEN last_seq > "
                           "forgotten_seq THEN last_seq ELSE 0 END FROM job WHERE last_seq > 0 "
                           "AND tenant = $2 ORDER BY heard_ns DESC, key DESC LIMIT $1",
          params);
  if (!rows.ok()) return rows.status();
  std::vector<JobRow> out;
  for (int i = 0; i < rows->size(); ++i) out.push_back(job_row(*rows, i));
  return out;
}

Result<std::optional<JobRow>> PostgresStore::find_job(const std::string& tenant,
                                                      const std::string& name) {
  if (!is_text(tenant) || !is_text(name)) return std::optional<JobRow>();
  PostgresParams params;
  params.add(std::string_view(tenant)).add(std::string_view(name));
  auto rows =
      ask("SELECT key, tenant, name, first_ns, heard_ns, CASE WHEN last_seq > forgotten_seq THEN "
          "last_seq ELSE 0 END FROM job WHERE tenant = $1 AND name = $2 AND "
          "last_seq > 0",
          params);
  if (!rows.ok()) return rows.status();
  if (rows->size() == 0) return std::optional<JobRow>();
  return std::optional(job_row(*rows, 0));
}

Result<std::vector<JournalRow>> PostgresStore::journals(JobKey job) {
  PostgresParams params;
  auto rows = ask("SELECT attempt, slots_max, next_slot, last, head FROM journal WHERE job = $1",
                  params.add(job));
  if (!rows.ok()) return rows.status();
  std::vector<JournalRow> out;
  for (int i = 0; i < rows->size(); ++i) {
    JournalRow& journal = out.emplace_back();
    journal.progress.attempt = static_cast<std::uint64_t>(rows->integer(i, 0));
    journal.progress.slots_max = static_cast<std::uint64_t>(rows->integer(i, 1));
    journal.progress.next_slot = static_cast<std::uint64_t>(rows->integer(i, 2));
    if (!read_into(rows->blob(i, 3), journal.progress.last) ||
        !read_into(rows->blob(i, 4), journal.head)) {
      return Status::corrupt(pool_.address().name() +
                             ": a row of the table journal is damaged; run `headway serve "
                             "--check`, or go back to a back-up");
    }
  }
  return out;
}

// In portions, the first of one row: many want no more. One statement sees the job and its batches
// as of one moment.
Status PostgresStore::batches(JobKey job, std::optional<std::uint64_t> attempt,
                              std::int64_t after_seq,
                              const std::function<bool(const BatchRow&)>& take) {
  BatchRow batch;
  std::int64_t limit = 1;
  while (true) {
    PostgresParams params;
    params.add(job).add(after_seq).add(limit);
    if (attempt) params.add(static_cast<std::int64_t>(*attempt));
    auto rows = ask(
        attempt ? "SELECT seq, attempt, bytes FROM batch WHERE job = $1 AND attempt = $4 AND seq > "
                  "greatest($2, (SELECT forgotten_seq FROM job WHERE key = $1)) AND received_ns >= "
                  "(SELECT first_ns FROM job WHERE key = $1) AND received_ns <= (SELECT heard_ns "
                  "FROM job WHERE key = $1) ORDER BY seq LIMIT $3"
                : "SELECT seq, attempt, bytes FROM batch WHERE job = $1 AND seq > greatest($2, "
                  "(SELECT forgotten_seq FROM job WHERE key = $1)) AND received_ns >= (SELECT "
                  "first_ns FROM job WHERE key = $1) AND received_ns <= (SELECT heard_ns FROM job "
                  "WHERE key = $1) ORDER BY seq LIMIT $3",
        params);
    if (!rows.ok()) return rows.status();
    std::int64_t bytes_all = 0;
    for (int i = 0; i < rows->size(); ++i) {
      batch.seq = after_seq = rows->integer(i, 0);
      batch.attempt = static_cast<std::uint64_t>(rows->integer(i, 1));
      const auto bytes = rows->blob(i, 2);
      bytes_all += static_cast<std::int64_t>(bytes.size());
      batch.bytes.assign(bytes.begin(), bytes.end());
      if (!take(batch)) return {};
    }
    if (rows->size() < limit) return {};
    const std::int64_t fit = bytes_at_once / std::max<std::int64_t>(1, bytes_all / rows->size());
    limit = std::clamp<std::int64_t>(fit, 1, std::min(rows_at_once, 8 * limit));
  }
}

Result<std::int64_t> PostgresStore::newest_seq(JobKey job) {
  PostgresParams params;
  auto rows = ask(
      "SELECT CASE WHEN last_seq > forgotten_seq THEN last_seq ELSE 0 END FROM job WHERE key = $1",
      params.add(job));
  if (!rows.ok()) return rows.status();
  return rows->size() == 0 ? 0 : rows->integer(0, 0);
}

Status PostgresStore::put_facts(std::span<const FactPut> facts) {
  return write([&](PostgresConnection& db) { return store::put_facts(db, facts); });
}

Status PostgresStore::facts(std::int64_t after_change,
                            const std::function<bool(const FactRow&)>& take) {
  // Once lost, it goes on after the last one that was told.
  return read([&](PostgresConnection& db) {
    return read_facts(db, after_change, [&](const FactRow& row) {
      after_change = row.change;
      return take(row);
    });
  });
}

Result<std::optional<AlertRow>> PostgresStore::put_alert(AlertRow alert,
                                                         const std::string& before) {
  bool written = false;
  const Status status =
      write([&](PostgresConnection& db) { return store::put_alert(db, alert, before, written); });
  if (!status.ok()) return status;
  return written ? std::optional(std::move(alert)) : std::nullopt;
}

Result<std::vector<AlertRow>> PostgresStore::alerts(const std::string& tenant,
                                                    std::size_t rows_max) {
  std::vector<AlertRow> out;
  const Status status = read([&](PostgresConnection& db) -> Status {
    auto rows = read_alerts(db, tenant, rows_max);
    if (rows.ok()) out = std::move(*rows);
    return rows.status();
  });
  if (!status.ok()) return status;
  return out;
}

Result<std::uint64_t> PostgresStore::forget(
    const std::function<Result<std::uint64_t>(PostgresConnection&)>& work) {
  auto db = pool_.take_to_write();
  if (!db.ok()) return db.status();
  return work(**db);
}

Status PostgresStore::jobs_without_facts(
    std::int64_t heard_before_ns,
    const std::function<void(const std::string&, const std::string&)>& take) {
  return read(
      [&](PostgresConnection& db) { return store::jobs_without_facts(db, heard_before_ns, take); });
}

Result<std::vector<Token>> PostgresStore::tokens() {
  auto rows = ask("SELECT id, tenant, role, label, hash, created_ns FROM token ORDER BY id", {});
  if (!rows.ok()) return rows.status();
  std::vector<Token> out;
  for (int i = 0; i < rows->size(); ++i) {
    Token token;
    token.id = rows->integer(i, 0);
    token.tenant = rows->text(i, 1);
    token.label = rows->text(i, 3);
    token.created_ns = rows->integer(i, 5);
    const auto role = role_of(rows->integer(i, 2));
    // What cannot be read lets nobody in.
    if (!role || !read_into(rows->blob(i, 4), token.hash)) continue;
    token.role = *role;
    out.push_back(std::move(token));
  }
  return out;
}

Result<bool> PostgresStore::has_had_tokens() {
  auto rows = ask("SELECT 1::int8 FROM token LIMIT 1", {});
  if (!rows.ok()) return rows.status();
  return rows->size() > 0;
}

Result<Token> PostgresStore::add_token(Token token) {
  const Status status = write([&](PostgresConnection& db) {
    return db.transaction(Kind::write, [&]() -> Status {
      PostgresParams params;
      params.add(std::string_view(token.tenant)).add(static_cast<std::int64_t>(token.role));
      params.add(std::string_view(token.label)).add(bytes_of(token.hash)).add(token.created_ns);
      auto rows = db.ask(
          "INSERT INTO token(tenant, role, label, hash, created_ns) VALUES($1, $2, $3, $4, $5) "
          "RETURNING id",
          params);
      if (!rows.ok()) return rows.status();
      HW_CHECK(rows->size() == 1);
      token.id = rows->integer(0, 0);
      return {};
    });
  });
  if (!status.ok()) return status;
  return token;
}

Result<bool> PostgresStore::remove_token(std::int64_t id) {
  bool removed = false;
  const Status status = write([&](PostgresConnection& db) {
    return db.transaction(Kind::write, [&]() -> Status {
      PostgresParams params;
      params.add(id);
      // One that was removed leaves a row of no role, which lets nobody in (has_had_tokens()).
      auto kept = db.ask(
          "INSERT INTO token(tenant, role, label, hash, created_ns) SELECT '', 0, 'removed', "
          "decode(repeat('00', 32), 'hex'), created_ns FROM token WHERE id = $1 AND role <> 0 "
          "ON CONFLICT (hash) DO NOTHING",
          params);
      if (!kept.ok()) return kept.status();
      auto rows = db.ask("DELETE FROM token WHERE id = $1 AND role <> 0", params);
      if (!rows.ok()) return rows.status();
      removed = rows->changed() > 0;
      return {};
    });
  });
  if (!status.ok()) return status;
  return removed;
}

Result<std::vector<std::string>> PostgresStore::check() {
  std::vector<std::string> out;
  Status status = check_batches(*this, out);
  if (status.ok()) {
    status = read([&](PostgresConnection& db) { return check_postgres(db, out); });
  }
  if (!status.ok()) return status;
  return out;
}

Status PostgresStore::back_up(const std::string& path) {
  return Status::invalid(path +
                         ": a PostgreSQL database is not copied into a file by Headway; use " +
                         "pg_dump, or pg_basebackup for the whole server");
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres(const PostgresOptions& options) {
  auto address = PostgresAddress::parse(options.url);
  if (!address.ok()) return address.status();
  auto store = std::make_unique<PostgresStore>(std::move(*address), options.timeouts);
  if (Status status = store->migrate(options.purpose); !status.ok()) return status;
  return std::unique_ptr<Store>(std::move(store));
}

std::string postgres_name(const std::string& url) {
  auto address = PostgresAddress::parse(url);
  return address.ok() ? address->name() : "a PostgreSQL database";
}

}  // namespace headway::store
