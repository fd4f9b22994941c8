#include "store/sqlite_facts.h"

#include "base/check.h"

namespace headway::store {

using base::Result;
using base::Status;

Status put_facts(Connection& db, std::span<const FactPut> facts) {
  Statement count = db.prepare("UPDATE counter SET change=change+1");
  Statement put = db.prepare(
      "INSERT INTO fact(job, attempt, upto_seq, change, bytes) "
      "VALUES(?1, ?2, ?3, (SELECT change FROM counter), ?4) "
      "ON CONFLICT(job, attempt) DO UPDATE SET upto_seq=excluded.upto_seq, change=excluded.change, "
      "bytes=excluded.bytes WHERE excluded.upto_seq>=upto_seq");
  for (const FactPut& fact : facts) {
    if (Status status = count.run(); !status.ok()) return status;
    if (db.changes() != 1) return no_counter(db);
    Status status = put.bind(1, fact.job)
                        .bind(2, fact.attempt)
                        .bind(3, fact.upto_seq)
                        .bind(4, fact.bytes)
                        .run();
    if (!status.ok()) return status;
  }
  return {};
}

Status read_facts(Connection& db, std::int64_t after_change,
                  const std::function<bool(const FactRow&)>& take) {
  Statement ask = db.prepare(
      "SELECT change, tenant, name, attempt, bytes FROM fact JOIN job ON job.key=fact.job "
      "WHERE change>? ORDER BY change");
  ask.bind(1, after_change);
  FactRow fact;
  while (true) {
    const auto row = ask.step();
    if (!row.ok()) return row.status();
    if (!row.value()) return {};
    fact.change = ask.integer(0);
    fact.tenant = ask.text(1);
    fact.job = ask.text(2);
    fact.attempt = ask.integer(3);
    const auto bytes = ask.blob(4);
    fact.bytes.assign(bytes.begin(), bytes.end());
    if (!take(fact)) return {};
  }
}

Result<std::uint64_t> forget_facts(Connection& db, std::int64_t heard_before_ns,
                                   std::size_t rows_max) {
  Statement forget = db.prepare(
      "DELETE FROM fact WHERE rowid IN (SELECT fact.rowid FROM fact JOIN job ON job.key=fact.job "
      "WHERE heard_ns<? LIMIT ?)");
  const Status status =
      forget.bind(1, heard_before_ns).bind(2, static_cast<std::int64_t>(rows_max)).run();
  if (!status.ok()) return status;
  return static_cast<std::uint64_t>(db.changes());
}

Status jobs_without_facts(
    Connection& db, std::int64_t heard_before_ns,
    const std::function<void(const std::string& tenant, const std::string& job)>& take) {
  Statement ask = db.prepare(
      "SELECT tenant, name FROM job WHERE heard_ns<? AND NOT EXISTS(SELECT 1 FROM fact WHERE "
      "job=key)");
  ask.bind(1, heard_before_ns);
  while (true) {
    const auto row = ask.step();
    if (!row.ok()) return row.status();
    if (!row.value()) return {};
    take(ask.text(0), ask.text(1));
  }
}

Status no_counter(const Connection& db) {
  return Status::corrupt(db.path() +
                         ": the table counter has not one row; run `headway serve --check`, or go "
                         "back to a back-up");
}

Status check_counter(Connection& db, std::vector<std::string>& wrong) {
  Statement there = db.prepare("SELECT count(*) FROM sqlite_master WHERE name='counter'");
  auto row = there.step();
  if (!row.ok()) return row.status();
  if (there.integer(0) == 0) return {};  // of the first schema
  Statement ask = db.prepare(
      "SELECT count(*), coalesce(max(seq), 0) < (SELECT coalesce(max(seq), 0) FROM batch), "
      "coalesce(max(change), 0) < (SELECT coalesce(max(change), 0) FROM fact) FROM counter");
  row = ask.step();
  if (!row.ok()) return row.status();
  if (ask.integer(0) != 1) {
    wrong.push_back(db.path() + ": the table counter has not one row");
  } else if (ask.integer(1) != 0 || ask.integer(2) != 0) {
    wrong.push_back(db.path() + ": batches or facts have larger numbers than the counter");
  }
  return {};
}

Result<bool> put_alert(Connection& db, AlertRow& alert, const std::string& before) {
  Statement put = db.prepare(
      before.empty()
          ? "INSERT INTO alert(tenant, key, document, changed_ns) VALUES(?1, ?2, ?3, ?4) "
            "ON CONFLICT(tenant, key) DO NOTHING RETURNING id"
          : "UPDATE alert SET document=?3, changed_ns=?4 "
            "WHERE tenant=?1 AND key=?2 AND document=?5 RETURNING id");
  put.bind(1, alert.tenant).bind(2, alert.key).bind(3, alert.document).bind(4, alert.changed_ns);
  if (!before.empty()) put.bind(5, before);
  auto row = put.step();
  if (row.ok() && *row) alert.id = put.integer(0);
  return row;
}

Result<std::vector<AlertRow>> read_alerts(Connection& db, const std::string& tenant,
                                          std::size_t rows_max) {
  Statement ask = db.prepare(
      "SELECT id, tenant, key, document, changed_ns FROM alert WHERE ?1='' OR tenant=?1 "
      "ORDER BY changed_ns DESC, id DESC LIMIT ?2");
  ask.bind(1, tenant).bind(2, static_cast<std::int64_t>(rows_max));
  std::vector<AlertRow> out;
  while (true) {
    const auto row = ask.step();
    if (!row.ok()) return row.status();
    if (!row.value()) return out;
    out.push_back({ask.integer(0), ask.text(1), ask.text(2), ask.text(3), ask.integer(4)});
  }
}

}  // namespace headway::store
