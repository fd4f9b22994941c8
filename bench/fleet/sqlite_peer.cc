#include "sqlite_peer.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <map>
#include <vector>

#include "base/check.h"

namespace headway::bench {
namespace {

using fleet::kDimensions;
using timeline::kBuckets;

std::string columns(std::string_view prefix, std::string_view type) {
  std::string out;
  for (std::size_t i = 0; i < kBuckets; ++i) out += fmt::format(",{}{}{}", prefix, i, type);
  return out;
}

std::string dimensions(std::string_view type) {
  std::string out;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    out += fmt::format(",{}{}", fleet::dimension_name(static_cast<fleet::Dimension>(i)), type);
  }
  return out;
}

std::string marks(std::size_t count) {
  std::string out = "?";
  for (std::size_t i = 1; i < count; ++i) out += ",?";
  return out;
}

// Device time by bucket.
std::string bucket_sums() {
  std::string out;
  for (std::size_t i = 0; i < kBuckets; ++i) out += fmt::format(",total(b{}*devices)", i);
  return out;
}

std::string part_means() {
  std::string out;
  for (std::size_t i = 0; i < kBuckets; ++i) out += fmt::format(",total(p{})", i);
  return out;
}

// What a roll-up by `by` is made of.
std::vector<std::string> rollup_of(std::string_view by) {
  constexpr std::string_view days = "WHERE day>=?1 AND day<?2 GROUP BY";
  return {
      fmt::format("SELECT total(wall*devices),count(DISTINCT job),count(*),total(queued),"
                  "total(failed*devices),sum(saves){} FROM slices {} {}",
                  bucket_sums(), days, by),
      fmt::format("SELECT count(*),avg(length) FROM starts {} {},recovery", days, by),
      fmt::format("SELECT count(*),total(unsaved*devices) FROM failures {} {},origin", days, by)};
}

std::vector<std::string> statements_of(std::string_view question) {
  if (question == "rollup") return rollup_of("1+0*day");
  if (question == "rollup_family") return rollup_of("family");
  if (question == "rollup_family_team") return rollup_of("family,team");
  if (question == "rollup_day") return rollup_of("day");
  if (question == "trend_ett_family") {
    return {
        "SELECT total(wall*devices),total(b16*devices) FROM slices WHERE day>=?1 AND day<?2 "
        "GROUP BY day,family"};
  }
  if (question == "trend_start") {
    return {
        "SELECT count(*),avg(length) FROM starts WHERE day>=?1 AND day<?2 AND recovery=0 "
        "GROUP BY day"};
  }
  if (question == "losses") {
    return {fmt::format("SELECT total(wall*devices){} FROM slices WHERE day>=?1 AND day<?2",
                        bucket_sums())};
  }
  if (question == "failures") {
    return {
        "SELECT count(*),count(DISTINCT job),total(lost*devices),total(unsaved*devices),"
        "avg(recovered),max(t) FROM failures WHERE day>=?1 AND day<?2 GROUP BY category,origin"};
  }
  if (question == "hosts") {
    return {"SELECT total(share),count(*) FROM hosts WHERE day>=?1 AND day<?2 GROUP BY host",
            "SELECT count(*),total(lost*devices),max(t) FROM failures WHERE day>=?1 AND day<?2 AND "
            "origin IN (1,4) GROUP BY host"};
  }
  if (question == "waterfall_start") {
    return {
        fmt::format("SELECT count(*){} FROM starts WHERE day>=?1 AND day<?2 AND recovery=0 "
                    "GROUP BY day<(?1+?2)/2",
                    part_means())};
  }
  HW_CHECK(question == "waterfall_ett");
  return {
      fmt::format("SELECT total(wall*devices){} FROM slices WHERE day>=?1 AND day<?2 GROUP BY "
                  "day<(?1+?2)/2",
                  bucket_sums())};
}

}  // namespace

SqlitePeer::SqlitePeer() {
  HW_CHECK(sqlite3_open(":memory:", &db_) == SQLITE_OK);
  run(
      fmt::format("CREATE TABLE slices(job INT,attempt INT,day INT,devices INT,wall INT,failed INT,"
                  "queued INT,saves INT{}{})",
                  dimensions(" INT"), columns("b", " INT")));
  run(fmt::format("CREATE TABLE starts(job INT,day INT,recovery INT,length REAL{}{})",
                  dimensions(" INT"), columns("p", " INT")));
  run(
      fmt::format("CREATE TABLE failures(job INT,day INT,t INT,devices INT,category INT,origin INT,"
                  "host INT,lost INT,unsaved INT,recovered REAL{})",
                  dimensions(" INT")));
  run("CREATE TABLE hosts(host INT,day INT,share REAL)");
  slices_ =
      prepare(fmt::format("INSERT INTO slices VALUES({})", marks(8 + kDimensions + kBuckets)));
  starts_ =
      prepare(fmt::format("INSERT INTO starts VALUES({})", marks(4 + kDimensions + kBuckets)));
  failures_ = prepare(fmt::format("INSERT INTO failures VALUES({})", marks(10 + kDimensions)));
  hosts_ = prepare("INSERT INTO hosts VALUES(?,?,?)");
  run("BEGIN");
}

SqlitePeer::~SqlitePeer() {
  for (sqlite3_stmt* each : {slices_, starts_, failures_, hosts_}) sqlite3_finalize(each);
  sqlite3_close(db_);
}

void SqlitePeer::run(const std::string& sql) {
  HW_CHECK(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
}

sqlite3_stmt* SqlitePeer::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  HW_CHECK(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  return statement;
}

void SqlitePeer::insert(sqlite3_stmt* statement) {
  HW_CHECK(sqlite3_step(statement) == SQLITE_DONE);
  sqlite3_reset(statement);
}

std::int64_t SqlitePeer::number(std::string_view kind, const std::string& text) {
  static std::map<std::string, std::map<std::string, std::int64_t>, std::less<>> numbers;
  auto found = numbers.find(kind);
  if (found == numbers.end())
    found = numbers.emplace(std::string(kind), std::map<std::string, std::int64_t>{}).first;
  return found->second.try_emplace(text, static_cast<std::int64_t>(found->second.size()))
      .first->second;
}

void SqlitePeer::add(std::int64_t job, const fleet::AttemptFacts& facts) {
  std::array<std::int64_t, kDimensions> ids{};
  for (std::size_t i = 0; i < kDimensions; ++i) {
    ids[i] = number(fleet::dimension_name(static_cast<fleet::Dimension>(i)), facts.dimensions[i]);
  }
  const auto bind = [](sqlite3_stmt* statement, int& at, std::int64_t value) {
    sqlite3_bind_int64(statement, at++, value);
  };
  for (const fleet::Slice& slice : facts.slices) {
    int at = 1;
    for (const std::int64_t value :
         {job, facts.attempt, std::int64_t{slice.day}, std::int64_t{facts.devices},
          slice.sums.total(), slice.failure_ns, slice.queued_ns, std::int64_t{slice.saves}}) {
      bind(slices_, at, value);
    }
    for (const std::int64_t id : ids) bind(slices_, at, id);
    for (const std::int64_t ns : slice.sums.ns) bind(slices_, at, ns);
    insert(slices_);
    for (const std::string& host : facts.hosts) {
      sqlite3_bind_int64(hosts_, 1, number("host", host));
      sqlite3_bind_int64(hosts_, 2, slice.day);
      sqlite3_bind_double(hosts_, 3,
                          static_cast<double>(slice.sums.total()) * facts.devices /
                              static_cast<double>(facts.hosts.size()));
      insert(hosts_);
    }
  }
  if (facts.start) {
    int at = 1;
    bind(starts_, at, job);
    bind(starts_, at, fleet::day_of(facts.start->from_ns));
    bind(starts_, at, facts.start->recovery ? 1 : 0);
    sqlite3_bind_double(starts_, at++, static_cast<double>(facts.start->length_ns()) / 1e9);
    for (const std::int64_t id : ids) bind(starts_, at, id);
    for (const std::int64_t ns : facts.start->parts.ns) bind(starts_, at, ns);
    insert(starts_);
  }
  if (facts.failure) {
    const fleet::FailureFact& failure = *facts.failure;
    int at = 1;
    for (const std::int64_t value :
         {job, std::int64_t{fleet::day_of(failure.t_ns)}, failure.t_ns, std::int64_t{facts.devices},
          number("category", failure.category), static_cast<std::int64_t>(failure.origin),
          number("host", failure.host), failure.lost_ns, failure.unsaved_ns}) {
      bind(failures_, at, value);
    }
    if (failure.time_to_recover_ns) {
      sqlite3_bind_double(failures_, at, static_cast<double>(*failure.time_to_recover_ns) / 1e9);
    } else {
      sqlite3_bind_null(failures_, at);
    }
    ++at;
    for (const std::int64_t id : ids) bind(failures_, at, id);
    insert(failures_);
  }
}

void SqlitePeer::finish() {
  run("COMMIT");
  run("CREATE INDEX slices_day ON slices(day)");
  run("CREATE INDEX slices_family ON slices(family,team)");
  run("CREATE INDEX starts_day ON starts(day)");
  run("CREATE INDEX failures_day ON failures(day)");
  run("CREATE INDEX failures_category ON failures(category,origin)");
  run("ANALYZE");
}

double SqlitePeer::ask(std::string_view question, std::int32_t from_day, std::int32_t to_day) {
  double sum = 0;
  for (const std::string& sql : statements_of(question)) {
    sqlite3_stmt* statement = prepare(sql);
    sqlite3_bind_int(statement, 1, from_day);
    sqlite3_bind_int(statement, 2, to_day);
    while (sqlite3_step(statement) == SQLITE_ROW) sum += sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
  }
  return sum;
}

std::int64_t SqlitePeer::bytes() {
  std::int64_t product = 1;
  for (const char* pragma : {"PRAGMA page_count", "PRAGMA page_size"}) {
    sqlite3_stmt* statement = prepare(pragma);
    HW_CHECK(sqlite3_step(statement) == SQLITE_ROW);
    product *= sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
  }
  return product;
}

}  // namespace headway::bench
