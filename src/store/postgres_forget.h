// Forgets the batches of old jobs in a PostgreSQL store: at once for every reader, and then their
// bytes, with whole partitions where nobody else's are in them; and facts. Of several that come at
// once, one does it, and the others find nothing to do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "store/postgres.h"

namespace headway::store {

base::Result<std::uint64_t> forget_batches(PostgresConnection& db, std::int64_t heard_before_ns);
base::Result<std::uint64_t> forget_facts(PostgresConnection& db, std::int64_t heard_before_ns);
base::Status jobs_without_facts(
    PostgresConnection& db, std::int64_t heard_before_ns,
    const std::function<void(const std::string& tenant, const std::string& job)>& take);

}  // namespace headway::store
