// A connection to an SQLite database and its statements, with errors as Status. Knows nothing of
// what is in it. One thread at a time per connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace headway::store {

class Statement;

class Connection {
 public:
  enum class Mode : std::uint8_t { write, read };
  static base::Result<std::unique_ptr<Connection>> open(const std::string& path, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Any number of statements without results.
  base::Status run(const char* sql);
  // Compiled once; `sql` is ours and is right.
  Statement prepare(const char* sql);
  // `body` in a transaction of a writer: all of it or nothing. A status that is not ok takes it
  // back.
  base::Status transaction(const std::function<base::Status()>& body);
  [[nodiscard]] std::int64_t last_row() const;
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] base::Status error(std::string_view doing) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] sqlite3* handle() const { return db_; }

 private:
  Connection(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}
  std::string path_;
  sqlite3* db_;
};

// Bound from 1 on, stepped, read from column 0 on. What was bound must live until reset().
class Statement {
 public:
  Statement() = default;
  Statement(Connection& connection, sqlite3_stmt* statement)
      : connection_(&connection), statement_(statement) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, std::span<const std::byte> blob);

  // True: there is a row. An error has reset it.
  base::Result<bool> step();
  // To its end, without results. Reset afterwards, also after an error.
  base::Status run();
  void reset();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::span<const std::byte> blob(int column) const;  // until the next step

 private:
  Connection* connection_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace headway::store
