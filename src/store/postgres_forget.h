// Forgets the batches of old jobs in a PostgreSQL store: at once for every reader, and then their
// bytes, with whole partitions where nobody else's are in them. Several at once do no harm.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "store/postgres.h"

namespace headway::store {

base::Result<std::uint64_t> forget_batches(PostgresConnection& db, std::int64_t heard_before_ns);

}  // namespace headway::store
