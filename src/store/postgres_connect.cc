#include "store/postgres_connect.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/clock.h"

namespace headway::store {
namespace {

using base::Code;
using base::Result;
using base::Status;

using Handle = std::unique_ptr<PGconn, void (*)(PGconn*)>;

struct Reason {
  Code code = Code::io_error;
  std::string text;
};

bool is_state(std::string_view text) {
  return text.size() == 5 && std::ranges::all_of(text, [](unsigned char c) {
           return std::isdigit(c) != 0 || std::isupper(c) != 0;
         });
}

Reason reason_of(PGconn* connection, const PostgresAddress& address) {
  const char* as = PQuser(connection);
  const std::string user = as == nullptr ? address.user() : as;
  const PostgresSaid said = said_by(PQerrorMessage(connection));
  if (PQconnectionNeedsPassword(connection) != 0) {
    return {
        Code::invalid_input,
        fmt::format("wants a password for user {}: put it into PGPASSWORD, ~/.pgpass or the URL",
                    user)};
  }
  if (said.state == "28P01") {
    return {Code::invalid_input,
            fmt::format("wrong password for user {}; mend it in PGPASSWORD, ~/.pgpass or the URL",
                        user)};
  }
  if (said.state == "28000") {
    return {
        Code::invalid_input,
        fmt::format("lets user {} not in ({}); see its pg_hba.conf and roles", user, said.text)};
  }
  if (said.state == "3D000") {
    return {Code::invalid_input, fmt::format("has no database {}; make it with `createdb -O {} {}`",
                                             address.database(), user, address.database())};
  }
  if (said.state == "42501") {
    return {Code::invalid_input, fmt::format("{}; grant it to user {}", said.text, user)};
  }
  return {Code::io_error, said.text};
}

Result<PGconn*> connect_to(const PostgresAddress& address, const PostgresAddress::Place& place,
                           int timeout_ms, Reason& reason) {
  std::vector<const char*> names, values;
  for (const auto& [name, value] : place.options) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  const std::int64_t deadline_ns = base::monotonic_ns() + std::int64_t{timeout_ms} * 1'000'000;
  Handle connection(PQconnectStartParams(names.data(), values.data(), 0), &PQfinish);
  if (!connection) return Status::io("no memory for a connection");
  PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);  // with the SQLSTATE
  auto next =
      PQstatus(connection.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
    const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    pollfd wait{PQsocket(connection.get()), events, 0};
    const std::int64_t left_ms = (deadline_ns - base::monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) {
      reason = {Code::io_error, fmt::format("no answer within {} s", timeout_ms / 1000)};
      return Status::io(reason.text);
    }
    if (::poll(&wait, 1, static_cast<int>(left_ms)) < 0 && errno != EINTR) {
      return base::Status::io("cannot wait for a connection");
    }
    if (wait.revents != 0) next = PQconnectPoll(connection.get());
  }
  if (next == PGRES_POLLING_OK) return connection.release();
  reason = reason_of(connection.get(), address);
  return Status::io(reason.text);
}

}  // namespace

PostgresSaid said_by(const std::string& message) {
  // "connection to server at … failed: FATAL:  28P01: text\nLOCATION: …", for each address tried.
  constexpr std::string_view failed = "failed: ";
  std::string_view text = message;
  if (const auto at = text.rfind(failed); at != std::string_view::npos) {
    text.remove_prefix(at + failed.size());
  }
  text = text.substr(0, text.find('\n'));
  constexpr std::string_view gap = ":  ";
  const auto colon = text.find(gap);
  if (colon != std::string_view::npos && is_state(text.substr(colon + gap.size(), 5)) &&
      text.substr(colon + gap.size() + 5).starts_with(": ")) {
    return {std::string(text.substr(colon + gap.size(), 5)),
            std::string(text.substr(colon + gap.size() + 7))};
  }
  return {"", std::string(text)};
}

Result<PGconn*> connect_postgres(const PostgresAddress& address, int timeout_ms) {
  Code code = Code::io_error;
  std::string reasons;
  for (const PostgresAddress::Place& place : address.places()) {
    Reason reason;
    auto connection = connect_to(address, place, timeout_ms, reason);
    if (connection.ok()) return connection;
    if (reason.code != Code::io_error) code = reason.code;
    const bool only = address.places().size() == 1;
    reasons += fmt::format("{}{}{}", reasons.empty() ? "" : "; ", only ? "" : place.name + ": ",
                           reason.text);
  }
  if (code != Code::io_error) return Status(code, address.name() + ": " + reasons);
  return Status::io(
      fmt::format("{}: no PostgreSQL server there takes writes: {}", address.name(), reasons));
}

}  // namespace headway::store
