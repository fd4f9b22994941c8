#include "store/postgres.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "store/postgres_connect.h"

namespace headway::store {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr int server_version_min = 150'000;
constexpr int binary = 1;

// A commit is on the disk, and on that of the synchronous standby if there is one, when it returns:
// a server that was told to be less careful is told otherwise, a more careful one is left so. No
// statement may end a wait for a standby (that would make visible what may yet be lost), but a lock
// may not be waited for, nor held, for ever.
constexpr const char* kSession = R"sql(
SET search_path = headway;
SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 60000;
SET client_encoding = 'UTF8';
SELECT set_config('synchronous_commit', 'on', false)
  WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write');
)sql";

std::int64_t deadline_of(int timeout_ms) {
  return base::monotonic_ns() + std::int64_t{timeout_ms} * 1'000'000;
}

void keep_warning(void* to, const PGresult* notice) {
  const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  if (severity == nullptr || std::strcmp(severity, "WARNING") != 0) return;
  *static_cast<std::string*>(to) = text == nullptr ? "a warning" : text;
}

}  // namespace

PostgresRows::PostgresRows(pg_result* result) : result_(result, &PQclear) {}

int PostgresRows::size() const {
  return PQntuples(result_.get());
}

bool PostgresRows::is_null(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::span<const std::byte> PostgresRows::blob(int row, int column) const {
  return std::as_bytes(
      std::span(PQgetvalue(result_.get(), row, column),
                static_cast<std::size_t>(PQgetlength(result_.get(), row, column))));
}

std::int64_t PostgresRows::integer(int row, int column) const {
  const auto bytes = blob(row, column);
  HW_CHECK(bytes.size() == sizeof(std::int64_t));
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | static_cast<std::uint64_t>(byte);
  return static_cast<std::int64_t>(value);
}

std::string PostgresRows::text(int row, int column) const {
  const auto bytes = blob(row, column);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::int64_t PostgresRows::changed() const {
  return std::atoll(PQcmdTuples(result_.get()));
}

PostgresConnection::PostgresConnection(const PostgresAddress& address,
                                       const PostgresTimeouts& timeouts, pg_conn* connection)
    : address_(address), timeouts_(timeouts), connection_(connection) {
  PQsetErrorVerbosity(connection_, PQERRORS_DEFAULT);
  PQsetNoticeReceiver(connection_, &keep_warning, &warning_);
  PQsetnonblocking(connection_, 1);
}

PostgresConnection::~PostgresConnection() {
  PQfinish(connection_);
}

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::open(
    const PostgresAddress& address, const PostgresTimeouts& timeouts) {
  auto connection = connect_postgres(address, timeouts.connect_ms);
  if (!connection.ok()) return connection.status();
  std::unique_ptr<PostgresConnection> out(new PostgresConnection(address, timeouts, *connection));
  if (Status status = out->set_up(); !status.ok()) return status;
  return out;
}

Status PostgresConnection::set_up() {
  const int version = PQserverVersion(connection_);
  if (version < server_version_min) {
    return {Code::unsupported,
            fmt::format("{}: is PostgreSQL {}; {} or newer is needed", address_.name(),
                        version / 10'000, server_version_min / 10'000)};
  }
  const char* encoding = PQparameterStatus(connection_, "server_encoding");
  if (encoding == nullptr || std::strcmp(encoding, "UTF8") != 0) {
    return Status::invalid(fmt::format(
        "{}: this database keeps text as {}; make one with `createdb -E UTF8 -T template0`",
        address_.name(), encoding == nullptr ? "something unknown" : encoding));
  }
  return run(fmt::format("{} SET lock_timeout = {}", kSession, timeouts_.lock_ms));
}

Status PostgresConnection::lose(std::string_view why) {
  lost_ = true;
  return Status::io(fmt::format("{}: the connection is lost: {}", address_.name(), why));
}

Status PostgresConnection::error_of(const pg_result* result) {
  const auto field = [&](int code) {
    const char* text = PQresultErrorField(result, code);
    return std::string(text == nullptr ? "" : text);
  };
  sqlstate_ = field(PG_DIAG_SQLSTATE);
  if (sqlstate_.empty()) return lose(said_by(PQerrorMessage(connection_)).text);
  // 57P: the server stops, or this connection is ended; 25006: it is a standby now.
  if (sqlstate_.starts_with("57P") || sqlstate_ == "25006") lost_ = true;
  Code code = Code::io_error;
  std::string advice;
  if (sqlstate_ == "42501") {
    code = Code::invalid_input;
    advice = fmt::format("; let user {} own the database", PQuser(connection_));
  } else if (sqlstate_ == "53100") {
    code = Code::no_space;
    advice = "; make room on the server's disk";
  } else if (sqlstate_.starts_with("XX00")) {
    code = Code::corrupt;
    advice = "; run `headway serve --check`, or go back to a back-up";
  } else if (sqlstate_ == "55P03") {
    advice = "; somebody else has it for long";
  }
  // Not the details: they repeat values.
  return {code, fmt::format("{}: {}{}", address_.name(), field(PG_DIAG_MESSAGE_PRIMARY), advice)};
}

Status PostgresConnection::wait(short events, std::int64_t deadline_ns) {
  while (true) {
    const std::int64_t left_ms = (deadline_ns - base::monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) return lose("the server does not answer");
    pollfd socket{PQsocket(connection_), events, 0};
    const int ready = ::poll(&socket, 1, static_cast<int>(left_ms));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return lose("it cannot be waited for");
  }
}

Status PostgresConnection::flush(std::int64_t deadline_ns) {
  while (true) {
    const int left = PQflush(connection_);
    if (left == 0) return {};
    if (left < 0) return lose(said_by(PQerrorMessage(connection_)).text);
    // A server that has to say something may not listen before that is read.
    if (Status status = wait(POLLIN | POLLOUT, deadline_ns); !status.ok()) return status;
    if (PQconsumeInput(connection_) == 0) return lose(said_by(PQerrorMessage(connection_)).text);
  }
}

Result<PostgresRows> PostgresConnection::next_result(std::int64_t deadline_ns, bool& over) {
  while (PQisBusy(connection_) != 0) {
    if (Status status = wait(POLLIN, deadline_ns); !status.ok()) return status;
    if (PQconsumeInput(connection_) == 0) return lose(said_by(PQerrorMessage(connection_)).text);
  }
  PGresult* result = PQgetResult(connection_);
  over = result == nullptr;
  return PostgresRows(result);
}

Result<PostgresRows> PostgresConnection::answer(int timeout_ms) {
  const std::int64_t deadline_ns = deadline_of(timeout_ms);
  if (Status status = flush(deadline_ns); !status.ok()) return status;
  PostgresRows last;
  Status status;
  while (true) {
    bool over = false;
    auto rows = next_result(deadline_ns, over);
    if (!rows.ok()) return rows.status();
    if (over) break;
    switch (PQresultStatus(rows->raw())) {
      case PGRES_COPY_IN:
        return *rows;  // it waits for the body
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
        last = *rows;
        break;
      default:
        if (status.ok()) status = error_of(rows->raw());
    }
  }
  if (PQstatus(connection_) != CONNECTION_OK) lost_ = true;
  if (!status.ok()) return status;
  return last;
}

Status PostgresConnection::run(const std::string& sql) {
  sqlstate_.clear();
  if (PQsendQuery(connection_, sql.c_str()) == 0) {
    return lose(said_by(PQerrorMessage(connection_)).text);
  }
  return answer(timeouts_.statement_ms).status();
}

Result<PostgresRows> PostgresConnection::ask(const char* sql, const PostgresParams& params) {
  sqlstate_.clear();
  auto found = planned_.find(sql);
  if (found == planned_.end()) {
    const std::string name = fmt::format("s{}", planned_.size());
    if (PQsendPrepare(connection_, name.c_str(), sql, params.size(), params.types().data()) == 0) {
      return lose(said_by(PQerrorMessage(connection_)).text);
    }
    auto prepared = answer(timeouts_.statement_ms);
    if (!prepared.ok()) return prepared.status();
    found = planned_.emplace(sql, name).first;
  }
  std::vector<const char*> values;
  std::vector<int> lengths;
  for (const std::string& value : params.values()) {
    values.push_back(value.data());
    lengths.push_back(static_cast<int>(value.size()));
  }
  const std::vector<int> formats(values.size(), binary);
  if (PQsendQueryPrepared(connection_, found->second.c_str(), params.size(), values.data(),
                          lengths.data(), formats.data(), binary) == 0) {
    return lose(said_by(PQerrorMessage(connection_)).text);
  }
  return answer(timeouts_.statement_ms);
}

Status PostgresConnection::copy_in(const char* sql, const std::string& body) {
  if (Status status = run(sql); !status.ok()) return status;
  const std::int64_t deadline_ns = deadline_of(timeouts_.statement_ms);
  constexpr std::size_t piece_bytes = 1u << 20;
  for (std::size_t at = 0; at < body.size(); at += piece_bytes) {
    const auto bytes = static_cast<int>(std::min(piece_bytes, body.size() - at));
    if (PQputCopyData(connection_, body.data() + at, bytes) < 0) {
      return lose(said_by(PQerrorMessage(connection_)).text);
    }
    if (Status status = flush(deadline_ns); !status.ok()) return status;
  }
  if (PQputCopyEnd(connection_, nullptr) < 0) {
    return lose(said_by(PQerrorMessage(connection_)).text);
  }
  return answer(timeouts_.statement_ms).status();
}

Status PostgresConnection::commit() {
  sqlstate_.clear();
  warning_.clear();
  if (PQsendQuery(connection_, "COMMIT") == 0) {
    return lose(said_by(PQerrorMessage(connection_)).text);
  }
  auto done = answer(timeouts_.statement_ms);
  if (!done.ok()) {
    in_doubt_ = lost_ && PQstatus(connection_) == CONNECTION_OK;
    return done.status();
  }
  if (std::strcmp(PQcmdStatus(done->raw()), "COMMIT") != 0) {
    return Status::io(address_.name() + ": a transaction was taken back");
  }
  // Somebody ended the wait for the synchronous standby: it may not be there yet. Who asks again
  // finds it, and waits for it.
  if (!warning_.empty()) {
    return Status::io(fmt::format("{}: a commit is not confirmed: {}", address_.name(), warning_));
  }
  return {};
}

Status PostgresConnection::transaction(Kind kind, const std::function<Status()>& body) {
  Status status = run(kind == Kind::write ? "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
                                          : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  if (!status.ok()) return status;
  status = body();
  if (status.ok()) return commit();
  if (lost_) return status;
  const std::string state = sqlstate_;
  if (!run("ROLLBACK").ok()) lost_ = true;
  sqlstate_ = state;
  return status;
}

bool PostgresConnection::is_settled() {
  if (!in_doubt_) return true;
  return PQconsumeInput(connection_) == 0 || PQisBusy(connection_) == 0;
}

bool PostgresConnection::is_usable() const {
  if (lost_ || PQtransactionStatus(connection_) != PQTRANS_IDLE) return false;
  // An idle server has nothing to say but that it goes.
  pollfd socket{PQsocket(connection_), POLLIN, 0};
  return ::poll(&socket, 1, 0) == 0;
}

}  // namespace headway::store
