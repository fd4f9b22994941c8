// What only the database itself can know to be wrong in a PostgreSQL store: rows that belong to
// nobody, and, where the extension amcheck is installed and may be used, damage in indexes and
// tables.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "store/postgres.h"

namespace headway::store {

base::Status check_postgres(PostgresConnection& db, std::vector<std::string>& wrong);

}  // namespace headway::store
