#include "store/postgres_facts.h"

#include <map>
#include <utility>

#include "base/check.h"

namespace headway::store {

using base::Result;
using base::Status;
using Kind = PostgresConnection::Kind;

namespace {

constexpr std::int64_t facts_at_once = 1000;

// One for each attempt, as if they were put one after the other.
std::vector<const FactPut*> last_of_each(std::span<const FactPut> facts) {
  std::map<std::pair<JobKey, std::int64_t>, const FactPut*> by_attempt;
  for (const FactPut& fact : facts) {
    const FactPut*& kept = by_attempt[{fact.job, fact.attempt}];
    if (kept == nullptr || fact.upto_seq >= kept->upto_seq) kept = &fact;
  }
  std::vector<const FactPut*> out;
  for (const auto& [attempt, fact] : by_attempt) out.push_back(fact);
  return out;
}

// Numbers are not drawn from a sequence: a transaction with a smaller one could commit after one
// with a larger one, and who had seen that would miss it. Who has the counter's row has it until
// the commit. (Telling readers nothing newer than the oldest transaction that still runs would do
// as well, but then they would wait for every back-up.)
Status put_in_transaction(PostgresConnection& db, const std::vector<const FactPut*>& facts) {
  const auto count = static_cast<std::int64_t>(facts.size());
  PostgresParams by, columns;
  auto counted = db.ask("UPDATE counter SET change = change + $1 RETURNING change", by.add(count));
  if (!counted.ok()) return counted.status();
  if (counted->size() != 1) {
    return Status::corrupt(db.address().name() + ": the table counter has not one row");
  }
  const std::int64_t last = counted->integer(0, 0);
  std::vector<std::int64_t> jobs, attempts, upto, changes;
  std::vector<std::span<const std::byte>> bytes;
  for (const FactPut* fact : facts) {
    jobs.push_back(fact->job);
    attempts.push_back(fact->attempt);
    upto.push_back(fact->upto_seq);
    bytes.emplace_back(fact->bytes);
    changes.push_back(last - count + static_cast<std::int64_t>(jobs.size()));
  }
  columns.add_integers(jobs).add_integers(attempts).add_integers(upto).add_integers(changes);
  return db
      .ask(
          "INSERT INTO fact(job, attempt, upto_seq, change, bytes) "
          "SELECT * FROM unnest($1, $2, $3, $4, $5) "
          "ON CONFLICT(job, attempt) DO UPDATE SET upto_seq = excluded.upto_seq, "
          "change = excluded.change, bytes = excluded.bytes "
          "WHERE excluded.upto_seq >= fact.upto_seq",
          columns.add_blobs(bytes))
      .status();
}

}  // namespace

Status put_facts(PostgresConnection& db, std::span<const FactPut> facts) {
  const auto each = last_of_each(facts);
  if (each.empty()) return {};
  return db.transaction(Kind::write, [&] { return put_in_transaction(db, each); });
}

Status read_facts(PostgresConnection& db, std::int64_t after_change,
                  const std::function<bool(const FactRow&)>& take) {
  return db.transaction(Kind::read, [&]() -> Status {
    FactRow fact;
    fact.change = after_change;
    while (true) {
      PostgresParams params;
      auto rows = db.ask(
          "SELECT change, tenant, name, attempt, bytes FROM fact JOIN job ON key = job "
          "WHERE change > $1 ORDER BY change LIMIT $2",
          params.add(fact.change).add(facts_at_once));
      if (!rows.ok()) return rows.status();
      for (int i = 0; i < rows->size(); ++i) {
        fact.change = rows->integer(i, 0);
        fact.tenant = rows->text(i, 1);
        fact.job = rows->text(i, 2);
        fact.attempt = rows->integer(i, 3);
        const auto bytes = rows->blob(i, 4);
        fact.bytes.assign(bytes.begin(), bytes.end());
        if (!take(fact)) return {};
      }
      if (rows->size() < facts_at_once) return {};
    }
  });
}

Status put_alert(PostgresConnection& db, AlertRow& alert, const std::string& before,
                 bool& written) {
  return db.transaction(Kind::write, [&]() -> Status {
    PostgresParams params;
    params.add(std::string_view(alert.tenant)).add(std::string_view(alert.key));
    params.add(std::string_view(alert.document)).add(alert.changed_ns);
    if (!before.empty()) params.add(std::string_view(before));
    auto rows =
        db.ask(before.empty()
                   ? "INSERT INTO alert(tenant, key, document, changed_ns) VALUES($1, $2, $3, $4) "
                     "ON CONFLICT(tenant, key) DO NOTHING RETURNING id"
                   : "UPDATE alert SET document = $3, changed_ns = $4 "
                     "WHERE tenant = $1 AND key = $2 AND document = $5 RETURNING id",
               params);
    if (!rows.ok()) return rows.status();
    written = rows->size() == 1;
    if (written) alert.id = rows->integer(0, 0);
    return {};
  });
}

Result<std::vector<AlertRow>> read_alerts(PostgresConnection& db, const std::string& tenant,
                                          std::size_t rows_max) {
  PostgresParams params;
  params.add(std::string_view(tenant));
  auto rows = db.ask(
      "SELECT id, tenant, key, document, changed_ns FROM alert WHERE $1 = '' OR tenant = $1 "
      "ORDER BY changed_ns DESC, id DESC LIMIT $2",
      params.add(rows_limit(rows_max)));
  if (!rows.ok()) return rows.status();
  std::vector<AlertRow> out;
  for (int i = 0; i < rows->size(); ++i) {
    out.push_back({rows->integer(i, 0), rows->text(i, 1), rows->text(i, 2), rows->text(i, 3),
                   rows->integer(i, 4)});
  }
  return out;
}

}  // namespace headway::store
