#include "store/postgres_check.h"

#include <fmt/format.h>

#include "store/batch_check.h"

namespace headway::store {
namespace {

using base::Result;
using base::Status;

struct Question {
  const char* sql;  // how many
  const char* what;
};

constexpr Question kQuestions[] = {
    {"SELECT count(*)::int8 FROM batch WHERE NOT EXISTS(SELECT 1 FROM job WHERE key = batch.job)",
     "batches are of no job"},
    {"SELECT count(*)::int8 FROM batch JOIN job ON key = batch.job WHERE seq > forgotten_seq AND "
     "(received_ns < first_ns OR received_ns > heard_ns)",
     "batches were received when their job was not heard of, and are not found"},
    {"SELECT count(*)::int8 FROM batch JOIN job ON key = batch.job WHERE seq > last_seq",
     "batches have larger numbers than their job"},
    {"SELECT count(*)::int8 FROM fact CROSS JOIN counter WHERE fact.change > counter.change",
     "facts have larger numbers than the counter"},
    {"SELECT abs(count(*) - 1)::int8 FROM counter",
     "rows too many or too few in the table counter"},
};

// Where its functions are; empty: they are not, or not for us.
Result<std::string> amcheck(PostgresConnection& db) {
  auto rows = db.ask(
      "SELECT quote_ident(nspname)::text FROM pg_extension JOIN pg_namespace n ON n.oid = "
      "extnamespace WHERE extname = 'amcheck' AND NOT EXISTS(SELECT 1 FROM pg_proc WHERE "
      "pronamespace = n.oid AND proname IN ('bt_index_check', 'verify_heapam') AND NOT "
      "has_function_privilege(pg_proc.oid, 'EXECUTE'))");
  if (!rows.ok()) return rows.status();
  return rows->size() == 0 ? std::string() : rows->text(0, 0);
}

Status look_into(PostgresConnection& db, const std::string& place,
                 std::vector<std::string>& wrong) {
  auto tables = db.ask(
      "SELECT oid::int8, relname::text, (relkind = 'i')::int4::int8 FROM pg_class WHERE "
      "relnamespace = "
      "'headway'::regnamespace AND relkind IN ('r', 'i') ORDER BY relkind, relname");
  if (!tables.ok()) return tables.status();
  for (int i = 0; i < tables->size() && wrong.size() < check_lines_max; ++i) {
    const std::string name = tables->text(i, 1);
    const bool is_index = tables->integer(i, 2) != 0;
    const Status status =
        is_index ? db.run(fmt::format("SELECT {}.bt_index_check({}::oid::regclass, true)", place,
                                      tables->integer(i, 0)))
                 : db.run(fmt::format(
                       "DO $$ DECLARE found text; BEGIN SELECT msg INTO found FROM "
                       "{}.verify_heapam({}::oid::regclass, check_toast => true) LIMIT 1; IF found "
                       "IS NOT NULL THEN RAISE EXCEPTION '%', found; END IF; END $$",
                       place, tables->integer(i, 0)));
    if (db.is_lost()) return status;
    if (!status.ok()) wrong.push_back(name + ": " + status.message());
  }
  return {};
}

}  // namespace

Status check_postgres(PostgresConnection& db, std::vector<std::string>& wrong) {
  const PostgresPatience patience(db);
  for (const Question& question : kQuestions) {
    auto rows = db.ask(question.sql);
    if (!rows.ok()) return rows.status();
    const std::int64_t count = rows->integer(0, 0);
    if (count > 0) {
      wrong.push_back(fmt::format("{}: {} {}", db.address().name(), count, question.what));
    }
  }
  auto place = amcheck(db);
  if (!place.ok()) return place.status();
  return place->empty() ? Status() : look_into(db, *place, wrong);
}

}  // namespace headway::store
