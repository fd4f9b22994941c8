// What of the PostgreSQL engine needs no server: addresses and their secrets, weeks, text.
#include "store/postgres_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "store/postgres_address.h"
#include "store/postgres_connect.h"
#include "store/postgres_partitions.h"
#include "store/postgres_schema.h"

namespace headway::store {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string option(const PostgresAddress::Place& place, const std::string& name) {
  for (const auto& [key, value] : place.options) {
    if (key == name) return value;
  }
  return "";
}

TEST(PostgresAddress, SaysWhereWithoutTheSecret) {
  auto address = PostgresAddress::parse(
      "postgres://ann:s3cr%40t@db.example:5433/fleet?sslmode=require&sslpassword=other");
  ASSERT_TRUE(address.ok()) << address.status().message();
  EXPECT_EQ(address->name(), "postgres://ann@db.example:5433/fleet");
  ASSERT_EQ(address->places().size(), 1u);
  const auto& place = address->places()[0];
  EXPECT_EQ(option(place, "password"), "s3cr@t");
  EXPECT_EQ(option(place, "sslmode"), "require");
  EXPECT_EQ(option(place, "target_session_attrs"), "read-write");
  EXPECT_THAT(place.name, Not(HasSubstr("s3cr")));
}

TEST(PostgresAddress, HostsAreTriedOneAfterTheOther) {
  auto address = PostgresAddress::parse(
      "postgresql://u@one:1,two:2,three/d?target_session_attrs=any&keepalives_idle=9");
  ASSERT_TRUE(address.ok()) << address.status().message();
  EXPECT_EQ(address->name(), "postgres://u@one:1,two:2,three/d");
  ASSERT_EQ(address->places().size(), 3u);
  EXPECT_EQ(option(address->places()[1], "host"), "two");
  EXPECT_EQ(option(address->places()[1], "port"), "2");
  EXPECT_EQ(option(address->places()[2], "port"), "");
  // A store that cannot be written to is none.
  EXPECT_EQ(option(address->places()[0], "target_session_attrs"), "read-write");
  EXPECT_EQ(option(address->places()[0], "keepalives_idle"), "9");
}

TEST(PostgresAddress, WhatIsNotUnderstoodIsNotRepeated) {
  for (const char* url :
       {"postgres://u:s3cret@host:port:5/d", "postgres://u:s3cret%zz@host/d",
        "postgres://u:s3@cret@host/d", "postgres://u:12/s3cret@host/d",
        "postgres://u:s3/cret@host/d", "postgres://u:s3cret@host/d?nosuch=1",
        "postgres://u:s3cret@host/", "s3cret", "postgres://u:s3cret@a,b,c:1,2/d?port=1,2",
        "postgres://u:s3cret@[::1/d"}) {
    const auto address = PostgresAddress::parse(url);
    ASSERT_FALSE(address.ok()) << url;
    EXPECT_THAT(address.status().message(), HasSubstr("postgres://USER@HOST:PORT/DATABASE"));
    EXPECT_THAT(address.status().message(), Not(HasSubstr("s3"))) << url;
    EXPECT_THAT(address.status().message(), Not(HasSubstr("cret"))) << url;
  }
  EXPECT_TRUE(is_postgres_url("postgres://x/y"));
  EXPECT_FALSE(is_postgres_url("/var/lib/store.db"));
}

TEST(PostgresConnect, WhatAServerSaysIsTakenApart) {
  const auto said = said_by(
      "connection to server at \"h\", port 1 failed: FATAL:  28P01: password authentication failed "
      "for user \"x\"\nLOCATION:  auth_failed, auth.c:326\n");
  EXPECT_EQ(said.state, "28P01");
  EXPECT_EQ(said.text, "password authentication failed for user \"x\"");
  const auto refused = said_by(
      "connection to server at \"::1\", port 1 failed: Connection refused\n\tIs the server "
      "running?\nconnection to server at \"127.0.0.1\", port 1 failed: Connection refused\n\tIs "
      "it?");
  EXPECT_EQ(refused.state, "");
  EXPECT_EQ(refused.text, "Connection refused");
  EXPECT_EQ(said_by("").text, "");
}

TEST(PostgresWeek, BeginsOnMondays) {
  constexpr std::int64_t day = 86'400'000'000'000;
  EXPECT_EQ(week_of(0).table, "batch_19691229");
  EXPECT_EQ(week_of(4 * day - 1).table, "batch_19691229");
  EXPECT_EQ(week_of(4 * day).table, "batch_19700105");
  const std::int64_t some = 1'794'000'000'000'000'000;  // 2026-11-06
  const PostgresWeek week = week_of(some);
  EXPECT_EQ(week.table, "batch_20261102");
  EXPECT_LE(week.begin_ns, some);
  EXPECT_GT(week.end_ns, some);
  EXPECT_EQ(week.end_ns - week.begin_ns, 7 * day);
  EXPECT_EQ(week_of(week.end_ns).begin_ns, week.end_ns);
  EXPECT_EQ(week_of(week.end_ns - 1).begin_ns, week.begin_ns);
  const auto again = week_of_table(week.table);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->begin_ns, week.begin_ns);
  EXPECT_EQ(week_of_table("batch_19691229")->begin_ns, week_of(0).begin_ns);
  for (const char* other : {"batch_20261103", "batch_2026110", "batch_20261302", "batch_x0261102",
                            "batch", "journal", "batch_202611020"}) {
    EXPECT_FALSE(week_of_table(other).has_value()) << other;
  }
}

TEST(PostgresText, IsUtf8WithoutNul) {
  for (const char* good : {"", "plain", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"}) {
    EXPECT_TRUE(is_text(good)) << good;
  }
  EXPECT_FALSE(is_text(std::string_view("a\0b", 3)));
  for (const char* bad : {"\xff", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                          "\xf5\x80\x80\x80", "\xf4\x90\x80\x80", "\x80", "\xf0\x9f\x98"}) {
    EXPECT_FALSE(is_text(bad));
  }
}

// What is out there was made by these very bytes.
TEST(PostgresSchema, AReleasedStepNeverChanges) {
  constexpr std::array<std::uint32_t, 1> released = {1237616010u};
  ASSERT_LE(released.size(), kPostgresSteps.size());
  for (std::size_t i = 0; i < released.size(); ++i) {
    const std::string_view text = kPostgresSteps[i];
    EXPECT_EQ(base::crc32c(text.data(), text.size()), released[i]) << "step " << i + 1;
  }
}

}  // namespace
}  // namespace headway::store
