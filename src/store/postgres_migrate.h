// Brings a PostgreSQL database to the newest schema. Any number of collectors may do so at once.
#pragma once

#include "base/status.h"
#include "store/postgres.h"

namespace headway::store {

base::Status migrate_postgres(PostgresConnection& db);

}  // namespace headway::store
