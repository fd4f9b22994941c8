#include "store/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "base/check.h"
#include "base/file.h"

namespace headway::store {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr int busy_timeout_ms = 10'000;

// Readers never wait for the writer, the writer never for readers; a commit is on the disk when it
// returns. What SQLite finds wrong in a page it tells instead of using it.
constexpr const char* kWriterSettings =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=8192;"
    "PRAGMA foreign_keys=ON; PRAGMA cell_size_check=ON; PRAGMA cache_size=-65536;";
constexpr const char* kReaderSettings =
    "PRAGMA query_only=ON; PRAGMA cell_size_check=ON; PRAGMA cache_size=-16384;";

Code code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::corrupt;
    case SQLITE_FULL:
      return Code::no_space;
    default:
      return Code::io_error;
  }
}

std::string advice(Code code) {
  if (code == Code::no_space) return "; make room on the disk";
  if (code == Code::corrupt) return "; run `headway serve --check`, or go back to a back-up";
  return "";
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Mode mode) {
  const bool writes = mode == Mode::write;
  // Its owner's alone: what it tells of jobs is not everybody's. Only where there is none, because
  // to close a file is to lose the locks that SQLite has on it.
  if (writes) base::UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  sqlite3* db = nullptr;
  const int flags = (writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE) |
                    SQLITE_OPEN_NOMUTEX;
  const int result = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  std::unique_ptr<Connection> connection(new Connection(path, db));
  if (result != SQLITE_OK) return connection->error("cannot open");
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, busy_timeout_ms);
  const Status status = connection->run(writes ? kWriterSettings : kReaderSettings);
  if (!status.ok()) return status;
  return connection;
}

Connection::~Connection() {
  sqlite3_close_v2(db_);
}

Status Connection::error(std::string_view doing) const {
  const Code code = code_of(sqlite3_errcode(db_));
  return {code, fmt::format("{}: {}: {}{}", path_, doing, sqlite3_errmsg(db_), advice(code))};
}

Status Connection::run(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return error("cannot be used");
}

Statement Connection::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int result =
      sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  // Damage may show as early as here; who steps a statement that is none gets the error then.
  if (result != SQLITE_OK) statement = nullptr;
  return {*this, statement};
}

Status Connection::transaction(const std::function<Status()>& body) {
  if (Status status = run("BEGIN IMMEDIATE"); !status.ok()) return status;
  Status status = body();
  if (status.ok()) {
    status = run("COMMIT");
    if (status.ok()) return {};
  }
  if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

std::int64_t Connection::last_row() const {
  return sqlite3_last_insert_rowid(db_);
}

std::int64_t Connection::changes() const {
  return sqlite3_changes64(db_);
}

Statement::Statement(Statement&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)),
      statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(connection_, other.connection_);
  std::swap(statement_, other.statement_);
  return *this;
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

Statement& Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_, index, value);
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  // An empty text is one, not NULL.
  sqlite3_bind_text64(statement_, index, text.empty() ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(int index, std::span<const std::byte> blob) {
  if (blob.empty()) {
    sqlite3_bind_zeroblob(statement_, index, 0);
  } else {
    sqlite3_bind_blob64(statement_, index, blob.data(), blob.size(), SQLITE_STATIC);
  }
  return *this;
}

Result<bool> Statement::step() {
  if (statement_ == nullptr) return connection_->error("cannot be read");
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  Status status = connection_->error("cannot be read or written");
  reset();
  return status;
}

Status Statement::run() {
  const auto row = step();
  reset();
  return row.ok() ? Status() : row.status();
}

void Statement::reset() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return data == nullptr
             ? ""
             : std::string(data,
                           static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

std::span<const std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? std::span<const std::byte>() : std::span(data, bytes);
}

}  // namespace headway::store
