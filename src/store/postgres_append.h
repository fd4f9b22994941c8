// Batches into a PostgreSQL store, each judged by how far its journals are. Several collectors do
// so at once on one database:
//  - whoever appends to a job holds the job's row until the commit, and rows are taken in the order
//    of their keys, so that nobody waits in a circle;
//  - seq is drawn after that, so that in a job its order is the order of commits;
//  - a row of a new job is made, and committed, before: it means nothing until it has a batch;
//  - whoever is told where a journal is has written something in the same transaction (when the job
//    was heard of), and so has waited for the synchronous standby with it.
// Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "store/postgres_partitions.h"
#include "store/postgres_pool.h"
#include "store/store.h"

namespace headway::store {

class PostgresAppender {
 public:
  explicit PostgresAppender(PostgresPool& pool) : pool_(pool) {}
  base::Result<std::vector<Appended>> append(std::span<const Append> appends);

 private:
  using Name = std::pair<std::string, std::string>;  // tenant, job
  struct Job;
  struct Round;

  base::Status prepare(PostgresConnection& db, Round& round);
  base::Status find_keys(PostgresConnection& db, Round& round);
  base::Status make_jobs(PostgresConnection& db, const Round& round);

  PostgresPool& pool_;
  std::mutex mutex_;  // of both
  std::map<Name, JobKey> keys_;
  PostgresPartitions partitions_;
};

}  // namespace headway::store
