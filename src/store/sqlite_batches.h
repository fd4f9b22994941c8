// Batches into an SQLite store, each judged by how far its journals are, and out of it again when
// they are old. All of it inside transactions of the caller, on the connection that writes. One
// thread at a time.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace headway::store {

class SqliteBatches {
 public:
  explicit SqliteBatches(Connection& db);

  base::Status append(const Append& append, Appended& out);
  // Of some jobs that were last heard of before then, their batches and how far their journals are:
  // what is sent again later is taken from its beginning. Of no further job once so many rows are
  // gone. How many jobs; 0: there is none left.
  base::Result<std::uint64_t> forget(std::int64_t heard_before_ns, std::size_t rows_max);

 private:
  base::Result<JobKey> job_of(const Append& append);
  base::Status add_job(const Append& append, Appended& out);
  base::Status find_journal(JobKey job, const ingest::JournalId& id, ingest::ProgressMap& known);
  base::Status known_journals(JobKey job, const Append& append, ingest::ProgressMap& known);
  base::Status keep(const Append& append, const ingest::ProgressMap& before,
                    const ingest::ProgressMap& after, Appended& out);

  Connection& db_;
  Statement find_job_, add_job_, touch_job_, find_journal_, add_journal_, move_journal_,
      newest_seq_, next_seq_, add_batch_;
};

}  // namespace headway::store
