#include "store/postgres_partitions.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <vector>

#include "store/postgres_locks.h"

namespace headway::store {
namespace {

using base::Status;
using Kind = PostgresConnection::Kind;

constexpr std::int64_t day_ns = 86'400'000'000'000;
constexpr std::int64_t week_ns = 7 * day_ns;
constexpr std::int64_t first_monday_ns = 4 * day_ns;  // 1970 began on a Thursday
constexpr std::string_view kPrefix = "batch_";

Status make(PostgresConnection& db, const PostgresWeek& week) {
  PostgresParams lock, name;
  auto locked = db.ask("SELECT 1::int8 FROM pg_advisory_xact_lock($1)", lock.add(kPartitionLock));
  if (!locked.ok()) return locked.status();
  auto there = db.ask(
      "SELECT 1::int8 FROM pg_class WHERE relnamespace = 'headway'::regnamespace AND relname = $1",
      name.add(std::string_view(week.table)));
  if (!there.ok()) return there.status();
  if (there->size() > 0) return {};
  // Attached, not made as a partition: nobody who reads or writes has to wait for that.
  return db.run(
      fmt::format("CREATE TABLE {0} (LIKE batch INCLUDING STORAGE);"
                  "ALTER TABLE batch ATTACH PARTITION {0} FOR VALUES FROM ({1}) TO ({2})",
                  week.table, week.begin_ns, week.end_ns));
}

}  // namespace

PostgresWeek week_of(std::int64_t t_ns) {
  const std::int64_t since_ns = t_ns - first_monday_ns;
  std::int64_t weeks = since_ns / week_ns;
  if (since_ns % week_ns < 0) --weeks;
  PostgresWeek out;
  out.begin_ns = first_monday_ns + weeks * week_ns;
  out.end_ns = out.begin_ns + week_ns;
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(out.begin_ns / day_ns))};
  out.table = fmt::format("{}{:04}{:02}{:02}", kPrefix, static_cast<int>(date.year()),
                          static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return out;
}

std::optional<PostgresWeek> week_of_table(std::string_view table) {
  if (!table.starts_with(kPrefix)) return {};
  const std::string_view digits = table.substr(kPrefix.size());
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.size() != 8 || error != std::errc() || end != digits.data() + digits.size()) return {};
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number / 10'000)),
                                         std::chrono::month(number / 100 % 100),
                                         std::chrono::day(number % 100)};
  if (!date.ok()) return {};
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  const PostgresWeek week = week_of(days * day_ns);
  if (week.table != table) return {};
  return week;
}

Status PostgresPartitions::ensure(PostgresConnection& db,
                                  std::span<const std::int64_t> moments_ns) {
  std::set<std::int64_t> missing;
  const auto want = [&](const PostgresWeek& week) {
    if (!known_.contains(week.begin_ns)) missing.insert(week.begin_ns);
  };
  for (const std::int64_t moment_ns : moments_ns) {
    const PostgresWeek week = week_of(moment_ns);
    want(week);
    want(week_of(week.end_ns));
  }
  for (const std::int64_t begin_ns : missing) {
    const PostgresWeek week = week_of(begin_ns);
    const Status status = db.transaction(Kind::write, [&] { return make(db, week); });
    if (!status.ok()) return status;
    known_.insert(begin_ns);
  }
  return {};
}

}  // namespace headway::store
