// The log is moved into the database beside those who write, and does not grow for ever.
#include "store/sqlite_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/temp_dir.h"
#include "store/sqlite_store.h"
#include "store/test_util.h"

namespace headway::store {
namespace {

constexpr std::uintmax_t page_bytes = 4096 + 24;  // in the log

TEST(SqliteLog, StaysSmallWhileOneWrites) {
  base::TempDir dir;
  const std::string path = dir.path() + "/db";
  auto db = Connection::open(path, Connection::Mode::write);
  ASSERT_TRUE(db.ok()) << db.status().message();
  ASSERT_TRUE((*db)->run("CREATE TABLE t(n INTEGER PRIMARY KEY, b BLOB)").ok());
  std::mutex mutex;
  constexpr int pages = 16;
  auto log = SqliteLog::begin(**db, mutex, pages);
  ASSERT_TRUE(log.ok()) << log.status().message();
  for (int i = 0; i < 600; ++i) {
    const std::lock_guard lock(mutex);
    ASSERT_TRUE((*db)->run("INSERT INTO t(b) VALUES(zeroblob(3000))").ok());
  }
  // A commit that finds it four times too long moves it itself; a few pages may be on their way.
  EXPECT_LT(std::filesystem::file_size(path + "-wal"), 16 * pages * page_bytes);
  log->reset();
  Statement count = (*db)->prepare("SELECT count(*) FROM t");
  ASSERT_TRUE(count.step().ok());
  EXPECT_EQ(count.integer(0), 600);
}

// It cannot begin anew while somebody reads what is in it; it is tried again.
TEST(SqliteLog, OutlivesAReader) {
  base::TempDir dir;
  const std::string path = dir.path() + "/db";
  auto db = Connection::open(path, Connection::Mode::write);
  ASSERT_TRUE(db.ok()) << db.status().message();
  ASSERT_TRUE((*db)->run("CREATE TABLE t(n INTEGER PRIMARY KEY, b BLOB)").ok());
  std::mutex mutex;
  constexpr int pages = 16;
  auto log = SqliteLog::begin(**db, mutex, pages);
  ASSERT_TRUE(log.ok()) << log.status().message();
  const auto write = [&](int rows) {
    for (int i = 0; i < rows; ++i) {
      const std::lock_guard lock(mutex);
      ASSERT_TRUE((*db)->run("INSERT INTO t(b) VALUES(zeroblob(3000))").ok());
    }
  };
  write(1);
  {
    auto reader = Connection::open(path, Connection::Mode::read);
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE((*reader)->run("BEGIN; SELECT count(*) FROM t").ok());
    write(100);
    EXPECT_GT(std::filesystem::file_size(path + "-wal"), 100 * page_bytes);
    Statement count = (*reader)->prepare("SELECT count(*) FROM t");
    ASSERT_TRUE(count.step().ok());
    EXPECT_EQ(count.integer(0), 1);  // as it was when it began
  }
  const auto longest = std::filesystem::file_size(path + "-wal");
  write(600);  // would be six times as much
  EXPECT_LT(std::filesystem::file_size(path + "-wal"), longest + 16 * pages * page_bytes);
}

}  // namespace
}  // namespace headway::store
