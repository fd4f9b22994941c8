// A connection to a PostgreSQL server, with errors as Status and no wait without an end: a server
// that does not answer in time is given up, and the connection with it. Knows nothing of what is in
// the database. One thread at a time per connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/postgres_address.h"
#include "store/postgres_values.h"

struct pg_conn;
struct pg_result;

namespace headway::store {

// The rows of an answer, from 0 on. Columns are int8, text or bytea.
class PostgresRows {
 public:
  explicit PostgresRows(pg_result* result = nullptr);
  [[nodiscard]] int size() const;
  [[nodiscard]] bool is_null(int row, int column) const;
  [[nodiscard]] std::int64_t integer(int row, int column) const;
  [[nodiscard]] std::string text(int row, int column) const;
  [[nodiscard]] std::span<const std::byte> blob(int row, int column) const;
  [[nodiscard]] std::int64_t changed() const;  // rows, by a statement that changes some
  [[nodiscard]] pg_result* raw() const { return result_.get(); }

 private:
  std::shared_ptr<pg_result> result_;
};

struct PostgresTimeouts {
  int connect_ms = 5'000;     // for each place
  int statement_ms = 20'000;  // without an answer
  int lock_ms = 10'000;  // for a lock that somebody else holds: less, so that the server says so
};

class PostgresConnection {
 public:
  static base::Result<std::unique_ptr<PostgresConnection>> open(const PostgresAddress& address,
                                                                const PostgresTimeouts& timeouts);
  ~PostgresConnection();
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // Any number of statements without parameters or results.
  base::Status run(const std::string& sql);
  // One statement; planned once: `sql` must be a literal.
  base::Result<PostgresRows> ask(const char* sql, const PostgresParams& params = {});
  // The body of "COPY … FROM STDIN (FORMAT binary)".
  base::Status copy_in(const char* sql, const std::string& body);

  enum class Kind : std::uint8_t { write, read };  // read: as of one moment
  // `body` in a transaction: all of it or nothing. A status that is not ok takes it back. An error
  // of the commit itself leaves open which of the two it is.
  base::Status transaction(Kind kind, const std::function<base::Status()>& body);

  // For statements that are known to take long.
  [[nodiscard]] int statement_ms() const { return timeouts_.statement_ms; }
  void set_statement_ms(int ms) { timeouts_.statement_ms = ms; }

  // Of the last error of the server; empty: of none.
  [[nodiscard]] const std::string& sqlstate() const { return sqlstate_; }
  // Nothing can be asked here any more.
  [[nodiscard]] bool is_lost() const { return lost_; }
  // A commit was not answered in time, and may still be.
  [[nodiscard]] bool in_doubt() const { return in_doubt_; }
  // That it has been answered by now, or never will be.
  [[nodiscard]] bool is_settled();
  // Idle, and the server has not hung up.
  [[nodiscard]] bool is_usable() const;
  [[nodiscard]] const PostgresAddress& address() const { return address_; }

 private:
  PostgresConnection(const PostgresAddress& address, const PostgresTimeouts& timeouts,
                     pg_conn* connection);
  base::Status set_up();
  base::Status commit();
  // Sends what is waiting and gathers the answer.
  base::Result<PostgresRows> answer(int timeout_ms);
  base::Result<PostgresRows> next_result(std::int64_t deadline_ns, bool& over);
  base::Status flush(std::int64_t deadline_ns);
  base::Status wait(short events, std::int64_t deadline_ns);
  base::Status lose(std::string_view why);
  base::Status error_of(const pg_result* result);

  const PostgresAddress address_;
  PostgresTimeouts timeouts_;
  pg_conn* connection_;
  std::map<const char*, std::string> planned_;
  std::string sqlstate_;
  std::string warning_;  // the last one of the server
  bool lost_ = false;
  bool in_doubt_ = false;
};

// While it lives, statements may take long.
class PostgresPatience {
 public:
  explicit PostgresPatience(PostgresConnection& connection, int statement_ms = 1'800'000)
      : connection_(connection), before_ms_(connection.statement_ms()) {
    connection_.set_statement_ms(statement_ms);
  }
  ~PostgresPatience() { connection_.set_statement_ms(before_ms_); }
  PostgresPatience(const PostgresPatience&) = delete;
  PostgresPatience& operator=(const PostgresPatience&) = delete;

 private:
  PostgresConnection& connection_;
  const int before_ms_;
};

}  // namespace headway::store
