// Moves what SQLite's log (the file "-wal") holds into the database, on a thread of its own: a
// commit appends to the log and waits for nothing else. Most of it goes over while others write;
// only the last few pages, and the log's beginning anew, are done with the writer held up.
//
// One owner. What it cannot do now (a disk that is full, a reader that is still in the log) it
// tries again after a few more commits.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "store/sqlite.h"

namespace headway::store {

class SqliteLog {
 public:
  static constexpr int behind_times_max = 4;  // so many times `pages`, and a commit does it itself

  // `mutex`: held by whoever uses `writer`. Both outlive this. `pages`: that are worth moving.
  static base::Result<std::unique_ptr<SqliteLog>> begin(Connection& writer, std::mutex& mutex,
                                                        int pages);
  ~SqliteLog();
  SqliteLog(const SqliteLog&) = delete;
  SqliteLog& operator=(const SqliteLog&) = delete;

 private:
  SqliteLog(Connection& writer, std::mutex& writer_mutex, int pages,
            std::unique_ptr<Connection> own);
  static int on_commit(void* self, sqlite3* db, const char* name, int pages);
  void run();
  void move();

  Connection& writer_;
  std::mutex& writer_mutex_;
  const int pages_max_;
  std::unique_ptr<Connection> own_;
  std::mutex mutex_;
  std::condition_variable wake_;
  int pages_ = 0;       // in the log, after the last commit
  int next_pages_ = 0;  // when to move
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace headway::store
