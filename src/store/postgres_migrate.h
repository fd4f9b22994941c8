// Brings a PostgreSQL database to the newest schema. Any number of collectors may do so at once.
#pragma once

#include <span>

#include "base/status.h"
#include "store/postgres.h"
#include "store/postgres_schema.h"
#include "store/store.h"

namespace headway::store {

// For a collector: to the newest. `change`: only where there is nothing yet. `look`: there must be
// something. `steps`: others than ours in tests.
base::Status migrate_postgres(PostgresConnection& db, Purpose purpose,
                              std::span<const char* const> steps = kPostgresSteps);

}  // namespace headway::store
