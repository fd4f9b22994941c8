// The table of batches in a PostgreSQL database has a partition for every week, from Monday 00:00
// UTC on: what is old goes with its partition, at once. They are made ahead, and where one is
// missing. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/postgres.h"

namespace headway::store {

struct PostgresWeek {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::string table;  // batch_YYYYMMDD, by its Monday
};
[[nodiscard]] PostgresWeek week_of(std::int64_t t_ns);
// None: the table is no such partition.
[[nodiscard]] std::optional<PostgresWeek> week_of_table(std::string_view table);

class PostgresPartitions {
 public:
  // Those of all these moments, and the one after the last.
  base::Status ensure(PostgresConnection& db, std::span<const std::int64_t> moments_ns);
  // What was there may be no more.
  void doubt() { known_.clear(); }

 private:
  std::set<std::int64_t> known_;  // by their beginnings
};

}  // namespace headway::store
