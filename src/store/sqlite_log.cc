#include "store/sqlite_log.h"

#include <sqlite3.h>

#include <utility>

namespace headway::store {

using base::Result;

Result<std::unique_ptr<SqliteLog>> SqliteLog::begin(Connection& writer, std::mutex& mutex,
                                                    int pages) {
  auto own = Connection::open(writer.path(), Connection::Mode::write);
  if (!own.ok()) return own.status();
  // Whoever still reads from the log is not waited for.
  sqlite3_busy_timeout((*own)->handle(), 0);
  return std::unique_ptr<SqliteLog>(new SqliteLog(writer, mutex, pages, std::move(*own)));
}

SqliteLog::SqliteLog(Connection& writer, std::mutex& writer_mutex, int pages,
                     std::unique_ptr<Connection> own)
    : writer_(writer),
      writer_mutex_(writer_mutex),
      pages_max_(pages),
      own_(std::move(own)),
      next_pages_(pages),
      thread_([this] { run(); }) {
  sqlite3_wal_hook(writer_.handle(), on_commit, this);  // in place of SQLite's own
}

SqliteLog::~SqliteLog() {
  sqlite3_wal_hook(writer_.handle(), nullptr, nullptr);
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

int SqliteLog::on_commit(void* self, sqlite3* db, const char* name, int pages) {
  auto& log = *static_cast<SqliteLog*>(self);
  bool far_behind = false;
  {
    const std::lock_guard lock(log.mutex_);
    if (pages < log.pages_) log.next_pages_ = log.pages_max_;  // it has begun anew
    log.pages_ = pages;
    far_behind = pages >= log.pages_max_ * behind_times_max;
    if (pages >= log.next_pages_) log.wake_.notify_one();
  }
  if (far_behind) sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  return SQLITE_OK;
}

// The second pass moves what came during the first, so that little is left for the third, which
// nobody may write beside.
void SqliteLog::move() {
  const auto checkpoint = [&](int mode) {
    sqlite3_wal_checkpoint_v2(own_->handle(), nullptr, mode, nullptr, nullptr);
  };
  checkpoint(SQLITE_CHECKPOINT_PASSIVE);
  checkpoint(SQLITE_CHECKPOINT_PASSIVE);
  const std::lock_guard lock(writer_mutex_);
  checkpoint(SQLITE_CHECKPOINT_RESTART);
}

void SqliteLog::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || pages_ >= next_pages_; });
    if (stop_) return;
    lock.unlock();
    move();
    lock.lock();
    // Unless it begins anew, which the next commit tells.
    next_pages_ = pages_ + pages_max_ / 8 + 1;
  }
}

}  // namespace headway::store
