// How a connection to a PostgreSQL server comes about: the places of an address one after the
// other, each for a bounded time, and one line that says why none would do. Any thread.
#pragma once

#include "base/status.h"
#include "store/postgres_address.h"

struct pg_conn;

namespace headway::store {

// The caller ends it with PQfinish().
base::Result<pg_conn*> connect_postgres(const PostgresAddress& address, int timeout_ms);

// SQLSTATE and text of what a server or libpq said, in one line; the state is empty where libpq
// itself speaks.
struct PostgresSaid {
  std::string state, text;
};
[[nodiscard]] PostgresSaid said_by(const std::string& message);

}  // namespace headway::store
