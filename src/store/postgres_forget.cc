#include "store/postgres_forget.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "store/postgres_locks.h"
#include "store/postgres_partitions.h"

namespace headway::store {
namespace {

using base::Result;
using base::Status;
using Kind = PostgresConnection::Kind;

// Jobs of one transaction: senders of the same jobs wait for it.
constexpr std::int64_t jobs_at_once = 100;
constexpr std::int64_t facts_at_once = 2'000;
// Dropping a partition needs the whole table for a moment. Who wants to use it meanwhile has to
// wait for those who do already and for us, so we do not wait long: there is a next time.
constexpr int drop_wait_ms = 500;

// Whether somebody who was heard of since then has a batch in there.
Result<bool> is_needed(PostgresConnection& db, const PostgresWeek& week,
                       std::int64_t heard_since_ns) {
  PostgresParams params;
  params.add(week.begin_ns).add(week.end_ns).add(heard_since_ns);
  auto rows = db.ask(
      "SELECT 1::int8 FROM job WHERE last_seq > forgotten_seq AND heard_ns >= greatest($1, $3) "
      "AND first_ns < $2 AND EXISTS(SELECT 1 FROM batch WHERE job = key AND seq > forgotten_seq "
      "AND received_ns >= $1 AND received_ns < $2) LIMIT 1",
      params);
  if (!rows.ok()) return rows.status();
  return rows->size() > 0;
}

struct Weeks {
  std::vector<PostgresWeek> stay, go;
};

Result<Weeks> weeks_of(PostgresConnection& db, std::int64_t heard_before_ns) {
  auto tables = db.ask(
      "SELECT relname::text FROM pg_inherits JOIN pg_class ON oid = inhrelid "
      "WHERE inhparent = 'batch'::regclass ORDER BY relname");
  if (!tables.ok()) return tables.status();
  Weeks out;
  for (int i = 0; i < tables->size(); ++i) {
    const auto week = week_of_table(tables->text(i, 0));
    if (!week) continue;
    bool stays = week->end_ns > heard_before_ns;
    if (!stays) {
      const auto needed = is_needed(db, *week, heard_before_ns);
      if (!needed.ok()) return needed.status();
      stays = needed.value();
    }
    (stays ? out.stay : out.go).push_back(*week);
  }
  return out;
}

Result<std::uint64_t> forget_some(PostgresConnection& db, std::int64_t heard_before_ns,
                                  const std::vector<PostgresWeek>& stay) {
  PostgresParams old;
  auto rows = db.ask(
      "SELECT key FROM job WHERE heard_ns < $1 AND last_seq > forgotten_seq ORDER BY key LIMIT $2 "
      "FOR NO KEY UPDATE",
      old.add(heard_before_ns).add(jobs_at_once));
  if (!rows.ok()) return rows.status();
  std::vector<std::int64_t> keys;
  for (int i = 0; i < rows->size(); ++i) keys.push_back(rows->integer(i, 0));
  if (keys.empty()) return std::uint64_t{0};
  for (const char* sql : {"DELETE FROM journal WHERE job = ANY($1)",
                          "UPDATE job SET forgotten_seq = last_seq WHERE key = ANY($1)"}) {
    PostgresParams params;
    auto done = db.ask(sql, params.add_integers(keys));
    if (!done.ok()) return done.status();
  }
  for (const PostgresWeek& week : stay) {
    PostgresParams params;
    params.add_integers(keys).add(week.begin_ns).add(week.end_ns);
    auto done = db.ask(
        "DELETE FROM batch WHERE job = ANY($1) AND received_ns >= $2 AND received_ns < $3", params);
    if (!done.ok()) return done.status();
  }
  return keys.size();
}

Status drop(PostgresConnection& db, const PostgresWeek& week) {
  Status status = db.run(fmt::format(
      "SET LOCAL lock_timeout = {}; LOCK TABLE batch IN ACCESS EXCLUSIVE MODE", drop_wait_ms));
  if (!status.ok()) return status;
  const auto needed = is_needed(db, week, INT64_MIN);
  if (!needed.ok()) return needed.status();
  return needed.value() ? Status() : db.run("DROP TABLE IF EXISTS " + week.table);
}

Result<std::uint64_t> forget_all_batches(PostgresConnection& db, std::int64_t heard_before_ns) {
  auto weeks = weeks_of(db, heard_before_ns);
  if (!weeks.ok()) return weeks.status();
  std::uint64_t forgotten = 0;
  for (std::uint64_t some = 1; some > 0; forgotten += some) {
    const Status status = db.transaction(Kind::write, [&]() -> Status {
      auto jobs = forget_some(db, heard_before_ns, weeks->stay);
      some = jobs.ok() ? *jobs : 0;
      return jobs.status();
    });
    if (!status.ok()) return status;
  }
  for (const PostgresWeek& week : weeks->go) {
    const Status status = db.transaction(Kind::write, [&] { return drop(db, week); });
    if (!status.ok() && db.sqlstate() != "55P03") return status;  // else somebody uses it
  }
  return forgotten;
}

// The counter's row as for a writer of facts: two who delete and put the same facts cannot wait for
// each other then.
Result<std::uint64_t> forget_some_facts(PostgresConnection& db, std::int64_t heard_before_ns) {
  auto locked = db.ask("SELECT change FROM counter FOR NO KEY UPDATE");
  if (!locked.ok()) return locked.status();
  PostgresParams params;
  auto done = db.ask(
      "DELETE FROM fact WHERE (job, attempt) IN (SELECT job, attempt FROM fact JOIN job ON key = "
      "job WHERE heard_ns < $1 LIMIT $2)",
      params.add(heard_before_ns).add(facts_at_once));
  if (!done.ok()) return done.status();
  return static_cast<std::uint64_t>(done->changed());
}

Result<std::uint64_t> forget_all_facts(PostgresConnection& db, std::int64_t heard_before_ns) {
  std::uint64_t forgotten = 0;
  for (std::uint64_t some = 1; some > 0; forgotten += some) {
    const Status status = db.transaction(Kind::write, [&]() -> Status {
      auto facts = forget_some_facts(db, heard_before_ns);
      some = facts.ok() ? *facts : 0;
      return facts.status();
    });
    if (!status.ok()) return status;
  }
  return forgotten;
}

// Holds the lock for as long as it takes. A connection that is lost meanwhile loses it, too.
template <typename Work>
Result<std::uint64_t> alone(PostgresConnection& db, const Work& work) {
  const PostgresPatience patience(db);
  PostgresParams lock;
  auto got = db.ask("SELECT pg_try_advisory_lock($1)::int4::int8", lock.add(kForgetLock));
  if (!got.ok()) return got.status();
  if (got->integer(0, 0) == 0) return std::uint64_t{0};
  auto done = work();
  PostgresParams unlock;
  auto given = db.ask("SELECT pg_advisory_unlock($1)::int4::int8", unlock.add(kForgetLock));
  if (done.ok() && !given.ok()) return given.status();
  return done;
}

}  // namespace

Result<std::uint64_t> forget_batches(PostgresConnection& db, std::int64_t heard_before_ns) {
  return alone(db, [&] { return forget_all_batches(db, heard_before_ns); });
}

Result<std::uint64_t> forget_facts(PostgresConnection& db, std::int64_t heard_before_ns) {
  return alone(db, [&] { return forget_all_facts(db, heard_before_ns); });
}

Status jobs_without_facts(
    PostgresConnection& db, std::int64_t heard_before_ns,
    const std::function<void(const std::string& tenant, const std::string& job)>& take) {
  PostgresParams params;
  auto rows = db.ask(
      "SELECT tenant, name FROM job WHERE heard_ns < $1 AND NOT EXISTS(SELECT 1 FROM fact WHERE "
      "job = key)",
      params.add(heard_before_ns));
  if (!rows.ok()) return rows.status();
  for (int i = 0; i < rows->size(); ++i) take(rows->text(i, 0), rows->text(i, 1));
  return {};
}

}  // namespace headway::store
