#include "store/sqlite_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/file.h"
#include "store/batch_check.h"
#include "store/blob.h"
#include "store/sqlite.h"
#include "store/sqlite_batches.h"
#include "store/sqlite_check.h"
#include "store/sqlite_facts.h"
#include "store/sqlite_log.h"
#include "store/sqlite_schema.h"

namespace headway::store {
namespace {

using base::Result;
using base::Status;

// Between two portions of what is forgotten, others may write. As many as one commit takes in.
constexpr std::size_t forget_rows_max = 2'000;
constexpr auto newest_version = static_cast<std::int64_t>(kSchemaSteps.size());

class SqliteStore final : public Store {
 public:
  static Result<std::unique_ptr<Store>> open(const SqliteOptions& options);

  [[nodiscard]] bool is_shared() const override { return false; }
  Result<std::vector<Appended>> append(std::span<const Append> appends) override;
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
  Result<std::uint64_t> forget_batches(std::int64_t heard_before_ns) override;
  Result<std::uint64_t> forget_facts(std::int64_t heard_before_ns) override;
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
  // A connection of one's own for as long as one reads.
  class Reader {
   public:
    Reader(SqliteStore& store, std::unique_ptr<Connection> db)
        : store_(store), db_(std::move(db)) {}
    Reader(Reader&&) = default;
    ~Reader() {
      if (!db_) return;
      const std::lock_guard lock(store_.readers_mutex_);
      if (store_.readers_.size() < readers_max) store_.readers_.push_back(std::move(db_));
    }
    Connection* operator->() { return db_.get(); }
    Connection& operator*() { return *db_; }

   private:
    SqliteStore& store_;
    std::unique_ptr<Connection> db_;
  };
  static constexpr std::size_t readers_max = 8;

  explicit SqliteStore(std::string path) : path_(std::move(path)) {}
  Status lock_file();
  Result<std::int64_t> version_of(Connection& db);
  Status migrate(bool is_ours);
  Status look();
  Result<Reader> reader();

  const std::string path_;
  base::UniqueFd lock_;
  std::mutex writer_mutex_;
  std::unique_ptr<Connection> writer_;
  std::optional<SqliteBatches> batches_;  // on the writer
  std::unique_ptr<SqliteLog> log_;        // of the writer; none: SQLite sees to it
  std::mutex readers_mutex_;
  std::vector<std::unique_ptr<Connection>> readers_;
};

Status SqliteStore::lock_file() {
  const std::string path = path_ + ".lock";
  lock_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_.valid()) return base::errno_status(path, "cannot be made", errno);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
  return Status::invalid(path_ +
                         ": another collector has this store; stop it, or use another file");
}

Result<std::int64_t> SqliteStore::version_of(Connection& db) {
  Statement ask = db.prepare("PRAGMA user_version");
  const auto row = ask.step();
  if (!row.ok()) return row.status();
  const std::int64_t version = ask.integer(0);
  if (version <= newest_version) return version;
  return Status(base::Code::unsupported,
                fmt::format("{}: has schema version {}; this build knows up to {}, install a "
                            "newer Headway",
                            path_, version, newest_version));
}

// `is_ours`: nobody else uses it. Else only what is empty is given its tables: an older collector
// may be at work there.
Status SqliteStore::migrate(bool is_ours) {
  Connection& db = *writer_;
  return db.transaction([&]() -> Status {
    auto version = version_of(db);
    if (!version.ok()) return version.status();
    if (*version == newest_version || (*version > 0 && !is_ours)) return {};
    for (std::int64_t step = *version; step < newest_version; ++step) {
      const char* sql = kSchemaSteps[static_cast<std::size_t>(step)];
      if (Status status = db.run(sql); !status.ok()) return status;
    }
    return db.run(fmt::format("PRAGMA user_version={}", newest_version).c_str());
  });
}

// Whether there is a store, without touching it.
Status SqliteStore::look() {
  if (::access(path_.c_str(), F_OK) != 0) {
    return Status::not_found(path_ + ": there is no store; --store names another one");
  }
  auto db = reader();
  if (!db.ok()) return db.status();
  auto version = version_of(**db);
  if (!version.ok()) return version.status();
  if (*version > 0) return {};
  return Status::not_found(path_ + ": holds no store of Headway; --store names another one");
}

Result<std::unique_ptr<Store>> SqliteStore::open(const SqliteOptions& options) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(options.path));
  if (options.purpose == Purpose::look) {
    if (Status status = store->look(); !status.ok()) return status;
    return std::unique_ptr<Store>(std::move(store));
  }
  const bool is_ours = options.purpose == Purpose::collect;
  if (is_ours) {
    if (Status status = store->lock_file(); !status.ok()) return status;
  }
  auto db = Connection::open(options.path, Connection::Mode::write);
  if (!db.ok()) return db.status();
  store->writer_ = std::move(*db);
  if (Status status = store->migrate(is_ours); !status.ok()) return status;
  store->batches_.emplace(*store->writer_);
  if (is_ours) {
    auto log = SqliteLog::begin(*store->writer_, store->writer_mutex_, options.log_pages);
    if (!log.ok()) return log.status();
    store->log_ = std::move(*log);
  }
  return std::unique_ptr<Store>(std::move(store));
}

Result<SqliteStore::Reader> SqliteStore::reader() {
  {
    const std::lock_guard lock(readers_mutex_);
    if (!readers_.empty()) {
      Reader reader(*this, std::move(readers_.back()));
      readers_.pop_back();
      return reader;
    }
  }
  auto db = Connection::open(path_, Connection::Mode::read);
  if (!db.ok()) return db.status();
  return Reader(*this, std::move(*db));
}

Result<std::vector<Appended>> SqliteStore::append(std::span<const Append> appends) {
  std::vector<Appended> out(appends.size());
  const std::lock_guard lock(writer_mutex_);
  const Status status = writer_->transaction([&]() -> Status {
    for (std::size_t i = 0; i < appends.size(); ++i) {
      if (Status one = batches_->append(appends[i], out[i]); !one.ok()) return one;
    }
    return {};
  });
  if (!status.ok()) return status;
  return out;
}

JobRow job_row(const Statement& row) {
  return {row.integer(0), row.text(1), row.text(2), row.integer(3), row.integer(4), row.integer(5)};
}

Result<std::vector<JobRow>> SqliteStore::jobs(const std::string& tenant, std::size_t rows_max) {
  auto db = reader();
  if (!db.ok()) return db.status();
  Statement ask = (*db)->prepare(
      "SELECT key, tenant, name, first_ns, heard_ns, (SELECT coalesce(max(seq), 0) FROM batch "
      "WHERE "
      "job=key) FROM job WHERE ?1='' OR tenant=?1 ORDER BY heard_ns DESC, key DESC LIMIT ?2");
  ask.bind(1, tenant).bind(2, static_cast<std::int64_t>(rows_max));
  std::vector<JobRow> out;
  while (true) {
    const auto row = ask.step();
    if (!row.ok()) return row.status();
    if (!row.value()) return out;
    out.push_back(job_row(ask));
  }
}

Result<std::optional<JobRow>> SqliteStore::find_job(const std::string& tenant,
                                                    const std::string& name) {
  auto db = reader();
  if (!db.ok()) return db.status();
  Statement ask = (*db)->prepare(
      "SELECT key, tenant, name, first_ns, heard_ns, (SELECT coalesce(max(seq), 0) FROM batch "
      "WHERE "
      "job=key) FROM job WHERE tenant=? AND name=?");
  const auto row = ask.bind(1, tenant).bind(2, name).step();
  if (!row.ok()) return row.status();
  if (!row.value()) return std::optional<JobRow>();
  return std::optional(job_row(ask));
}

Result<std::vector<JournalRow>> SqliteStore::journals(JobKey job) {
  auto db = reader();
  if (!db.ok()) return db.status();
  Statement ask =
      (*db)->prepare("SELECT attempt, slots_max, next_slot, last, head FROM journal WHERE job=?");
  ask.bind(1, job);
  std::vector<JournalRow> out;
  while (true) {
    const auto row = ask.step();
    if (!row.ok()) return row.status();
    if (!row.value()) return out;
    JournalRow& journal = out.emplace_back();
    journal.progress.attempt = static_cast<std::uint64_t>(ask.integer(0));
    journal.progress.slots_max = static_cast<std::uint64_t>(ask.integer(1));
    journal.progress.next_slot = static_cast<std::uint64_t>(ask.integer(2));
    if (!read_into(ask.blob(3), journal.progress.last) || !read_into(ask.blob(4), journal.head)) {
      return Status::corrupt(path_ +
                             ": a row of the table journal is damaged; run `headway serve "
                             "--check`, or go back to a back-up");
    }
  }
}

Status SqliteStore::batches(JobKey job, std::optional<std::uint64_t> attempt,
                            std::int64_t after_seq,
                            const std::function<bool(const BatchRow&)>& take) {
  auto db = reader();
  if (!db.ok()) return db.status();
  Statement ask = (*db)->prepare(
      attempt ? "SELECT seq, attempt, bytes FROM batch WHERE job=?1 AND attempt=?3 AND seq>?2 "
                "ORDER BY seq"
              : "SELECT seq, attempt, bytes FROM batch INDEXED BY batch_of_job WHERE job=?1 AND "
                "seq>?2 ORDER BY seq");
  ask.bind(1, job).bind(2, after_seq);
  if (attempt) ask.bind(3, static_cast<std::int64_t>(*attempt));
  BatchRow batch;
  while (true) {
    const auto row = ask.step();
    if (!row.ok()) return row.status();
    if (!row.value()) return {};
    batch.seq = ask.integer(0);
    batch.attempt = static_cast<std::uint64_t>(ask.integer(1));
    const auto bytes = ask.blob(2);
    batch.bytes.assign(bytes.begin(), bytes.end());
    if (!take(batch)) return {};
  }
}

Result<std::int64_t> SqliteStore::newest_seq(JobKey job) {
  auto db = reader();
  if (!db.ok()) return db.status();
  Statement ask = (*db)->prepare("SELECT coalesce(max(seq), 0) FROM batch WHERE job=?");
  const auto row = ask.bind(1, job).step();
  if (!row.ok()) return row.status();
  return ask.integer(0);
}

Status SqliteStore::put_facts(std::span<const FactPut> facts) {
  const std::lock_guard lock(writer_mutex_);
  return writer_->transaction([&] { return store::put_facts(*writer_, facts); });
}

Status SqliteStore::facts(std::int64_t after_change,
                          const std::function<bool(const FactRow&)>& take) {
  auto db = reader();
  if (!db.ok()) return db.status();
  return read_facts(**db, after_change, take);
}

Result<std::optional<AlertRow>> SqliteStore::put_alert(AlertRow alert, const std::string& before) {
  const std::lock_guard lock(writer_mutex_);
  bool written = false;
  const Status status = writer_->transaction([&]() -> Status {
    auto put = store::put_alert(*writer_, alert, before);
    written = put.ok() && *put;
    return put.status();
  });
  if (!status.ok()) return status;
  return written ? std::optional(std::move(alert)) : std::nullopt;
}

Result<std::vector<AlertRow>> SqliteStore::alerts(const std::string& tenant, std::size_t rows_max) {
  auto db = reader();
  if (!db.ok()) return db.status();
  return read_alerts(**db, tenant, rows_max);
}

Result<std::uint64_t> SqliteStore::forget_batches(std::int64_t heard_before_ns) {
  std::uint64_t forgotten = 0;
  while (true) {
    std::uint64_t jobs = 0;
    const std::lock_guard lock(writer_mutex_);
    const Status status = writer_->transaction([&]() -> Status {
      auto some = batches_->forget(heard_before_ns, forget_rows_max);
      if (some.ok()) jobs = *some;
      return some.status();
    });
    if (!status.ok()) return status;
    forgotten += jobs;
    if (jobs == 0) return forgotten;
  }
}

Result<std::uint64_t> SqliteStore::forget_facts(std::int64_t heard_before_ns) {
  std::uint64_t forgotten = 0;
  while (true) {
    const std::lock_guard lock(writer_mutex_);
    auto some = store::forget_facts(*writer_, heard_before_ns, forget_rows_max);
    if (!some.ok()) return some.status();
    forgotten += *some;
    if (*some == 0) return forgotten;
  }
}

Status SqliteStore::jobs_without_facts(
    std::int64_t heard_before_ns,
    const std::function<void(const std::string&, const std::string&)>& take) {
  auto db = reader();
  if (!db.ok()) return db.status();
  return store::jobs_without_facts(**db, heard_before_ns, take);
}

Result<std::vector<Token>> SqliteStore::tokens() {
  auto db = reader();
  if (!db.ok()) return db.status();
  Statement ask =
      (*db)->prepare("SELECT id, tenant, role, label, hash, created_ns FROM token ORDER BY id");
  std::vector<Token> out;
  while (true) {
    const auto row = ask.step();
    if (!row.ok()) return row.status();
    if (!row.value()) return out;
    Token token;
    token.id = ask.integer(0);
    token.tenant = ask.text(1);
    const auto role = role_of(ask.integer(2));
    token.label = ask.text(3);
    token.created_ns = ask.integer(5);
    // What cannot be read lets nobody in.
    if (!role || !read_into(ask.blob(4), token.hash)) continue;
    token.role = *role;
    out.push_back(std::move(token));
  }
}

Result<bool> SqliteStore::has_had_tokens() {
  auto db = reader();
  if (!db.ok()) return db.status();
  // The table and its index, which lie on different pages: one that was lost opens nothing.
  return (*db)
      ->prepare(
          "SELECT 1 FROM token NOT INDEXED UNION ALL "
          "SELECT 1 FROM token INDEXED BY sqlite_autoindex_token_1 LIMIT 1")
      .step();
}

Result<Token> SqliteStore::add_token(Token token) {
  const std::lock_guard lock(writer_mutex_);
  Statement add = writer_->prepare(
      "INSERT INTO token(tenant, role, label, hash, created_ns) VALUES(?, ?, ?, ?, ?)");
  const Status status = add.bind(1, token.tenant)
                            .bind(2, static_cast<std::int64_t>(token.role))
                            .bind(3, token.label)
                            .bind(4, bytes_of(token.hash))
                            .bind(5, token.created_ns)
                            .run();
  if (!status.ok()) return status;
  token.id = writer_->last_row();
  return token;
}

Result<bool> SqliteStore::remove_token(std::int64_t id) {
  const std::lock_guard lock(writer_mutex_);
  // One that was removed leaves a row of no role, which lets nobody in (has_had_tokens()).
  Statement keep = writer_->prepare(
      "INSERT OR IGNORE INTO token(tenant, role, label, hash, created_ns) SELECT '', 0, 'removed', "
      "zeroblob(32), created_ns FROM token WHERE id=? AND role<>0");
  if (Status status = keep.bind(1, id).run(); !status.ok()) return status;
  Statement remove = writer_->prepare("DELETE FROM token WHERE id=? AND role<>0");
  const Status status = remove.bind(1, id).run();
  if (!status.ok()) return status;
  return writer_->changes() > 0;
}

Result<std::vector<std::string>> SqliteStore::check() {
  auto db = reader();
  if (!db.ok()) return db.status();
  std::vector<std::string> out = check_pages(**db);
  // What is damaged so much is not looked into further.
  if (!out.empty()) return out;
  if (Status status = check_counter(**db, out); !status.ok()) out.push_back(status.message());
  if (Status status = check_batches(*this, out); !status.ok()) out.push_back(status.message());
  return out;
}

// A back-up may take the place of the one before it, and of nothing else.
Status check_may_go(const std::string& path) {
  constexpr std::string_view begins_with("SQLite format 3\0", 16);
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return {};
  std::string begin(begins_with.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  if (begin.empty() || begin == begins_with) return {};
  return Status::invalid(path + ": is no back-up of a store, and is left alone; give another name");
}

Status SqliteStore::back_up(const std::string& path) {
  auto from = reader();
  if (!from.ok()) return from.status();
  if (Status status = check_may_go(path); !status.ok()) return status;
  const std::string half = path + ".tmp";
  {
    auto to = Connection::open(half, Connection::Mode::write);
    if (!to.ok()) return to.status();
    sqlite3_backup* copy = sqlite3_backup_init((*to)->handle(), "main", (*from)->handle(), "main");
    if (copy == nullptr) return (*to)->error("cannot be backed up into");
    // All at once, in one reader's view: a copy in steps would begin again with every commit.
    const int result = sqlite3_backup_step(copy, -1);
    sqlite3_backup_finish(copy);
    if (result != SQLITE_DONE) return (*to)->error("cannot be backed up into");
    if (Status status = (*to)->run("PRAGMA journal_mode=DELETE"); !status.ok()) return status;
  }
  if (::rename(half.c_str(), path.c_str()) != 0) {
    return base::errno_status(path, "cannot be given its name", errno);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options) {
  return SqliteStore::open(options);
}

}  // namespace headway::store
