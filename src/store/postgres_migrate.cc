#include "store/postgres_migrate.h"

#include <fmt/format.h>

#include "store/postgres_locks.h"

namespace headway::store {
namespace {

using base::Result;
using base::Status;
using Kind = PostgresConnection::Kind;

// 0: there is nothing yet.
Result<std::int64_t> version_of(PostgresConnection& db) {
  // Not to_regclass(): who has waited for a lock may be told by it what was there before.
  auto there = db.ask(
      "SELECT 1::int8 FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = "
      "'headway' AND relname = 'schema_version'");
  if (!there.ok()) return there.status();
  if (there->size() == 0) return std::int64_t{0};
  auto version = db.ask("SELECT max(version)::int8 FROM headway.schema_version");
  if (!version.ok()) return version.status();
  return version->size() == 0 || version->is_null(0, 0) ? 0 : version->integer(0, 0);
}

Status refuse_newer(PostgresConnection& db, std::int64_t version, std::int64_t newest) {
  if (version <= newest) return {};
  return {base::Code::unsupported,
          fmt::format("{}: has schema version {}; this build knows up to {}, install a newer "
                      "Headway",
                      db.address().name(), version, newest)};
}

Status step_up(PostgresConnection& db, std::span<const char* const> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  PostgresParams lock;
  auto locked = db.ask("SELECT 1::int8 FROM pg_advisory_xact_lock($1)", lock.add(kSchemaLock));
  if (!locked.ok()) return locked.status();
  auto version = version_of(db);  // another one may have been faster
  if (!version.ok()) return version.status();
  if (Status status = refuse_newer(db, *version, newest); !status.ok()) return status;
  if (*version == 0) {
    // A schema that was made for us need not be ours to make.
    auto there = db.ask("SELECT 1::int8 FROM pg_namespace WHERE nspname = 'headway'");
    if (!there.ok()) return there.status();
    if (there->size() == 0) {
      if (Status status = db.run("CREATE SCHEMA headway"); !status.ok()) return status;
    }
    Status status = db.run(
        "CREATE TABLE IF NOT EXISTS headway.schema_version(version bigint PRIMARY KEY, "
        "since timestamptz NOT NULL DEFAULT now())");
    if (!status.ok()) return status;
  }
  for (std::int64_t step = *version; step < newest; ++step) {
    Status status = db.run(steps[static_cast<std::size_t>(step)]);
    if (!status.ok()) return status;
    status = db.run(fmt::format("INSERT INTO schema_version(version) VALUES({})", step + 1));
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace

Status migrate_postgres(PostgresConnection& db, Purpose purpose,
                        std::span<const char* const> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  auto version = version_of(db);
  if (!version.ok()) return version.status();
  if (Status status = refuse_newer(db, *version, newest); !status.ok()) return status;
  if (*version == 0 && purpose == Purpose::look) {
    return Status::not_found(db.address().name() +
                             ": holds no store of Headway; --store names another one");
  }
  // Others may be using it as it is.
  if (*version == newest || (*version > 0 && purpose != Purpose::collect)) return {};
  return db.transaction(Kind::write, [&] { return step_up(db, steps); });
}

}  // namespace headway::store
