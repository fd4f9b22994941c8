// What was made of batches, in an SQLite store: facts of attempts with the numbers of their
// changes, the counter that numbers them, and alerts. Functions on a connection of the caller's;
// those that put, inside its transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace headway::store {

base::Status put_facts(Connection& db, std::span<const FactPut> facts);
base::Status read_facts(Connection& db, std::int64_t after_change,
                        const std::function<bool(const FactRow&)>& take);
// Of jobs that were last heard of before then, at most so many. How many.
base::Result<std::uint64_t> forget_facts(Connection& db, std::int64_t heard_before_ns,
                                         std::size_t rows_max);
base::Status jobs_without_facts(
    Connection& db, std::int64_t heard_before_ns,
    const std::function<void(const std::string& tenant, const std::string& job)>& take);

// The one row that numbers are drawn from is missing.
base::Status no_counter(const Connection& db);
// Adds a line where it is, or is behind what was numbered by it.
base::Status check_counter(Connection& db, std::vector<std::string>& wrong);

// False: what is kept is not `before`.
base::Result<bool> put_alert(Connection& db, AlertRow& alert, const std::string& before);
base::Result<std::vector<AlertRow>> read_alerts(Connection& db, const std::string& tenant,
                                                std::size_t rows_max);

}  // namespace headway::store
