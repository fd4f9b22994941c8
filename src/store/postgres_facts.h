// What was made of batches, in a PostgreSQL store: facts of attempts with the numbers of their
// changes, and alerts. Functions on a connection of the caller's, each a transaction of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/postgres.h"
#include "store/store.h"

namespace headway::store {

base::Status put_facts(PostgresConnection& db, std::span<const FactPut> facts);
base::Status read_facts(PostgresConnection& db, std::int64_t after_change,
                        const std::function<bool(const FactRow&)>& take);
// Not written: what is kept is not `before`.
base::Status put_alert(PostgresConnection& db, AlertRow& alert, const std::string& before,
                       bool& written);
base::Result<std::vector<AlertRow>> read_alerts(PostgresConnection& db, const std::string& tenant,
                                                std::size_t rows_max);

}  // namespace headway::store
