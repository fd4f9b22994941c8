#include "store/sqlite_batches.h"

#include <vector>

#include "base/check.h"
#include "store/batch_journals.h"
#include "store/blob.h"
#include "store/sqlite_facts.h"

namespace headway::store {

using base::Result;
using base::Status;
using ingest::JournalId;
using ingest::Progress;

SqliteBatches::SqliteBatches(Connection& db)
    : db_(db),
      find_job_(db.prepare("SELECT key FROM job WHERE tenant=? AND name=?")),
      add_job_(db.prepare("INSERT INTO job(tenant, name, first_ns, heard_ns) VALUES(?, ?, ?, ?)")),
      touch_job_(db.prepare("UPDATE job SET heard_ns=max(heard_ns, ?) WHERE key=?")),
      find_journal_(db.prepare(
          "SELECT attempt, slots_max, next_slot, last FROM journal WHERE job=? AND id=?")),
      add_journal_(
          db.prepare("INSERT INTO journal(job, id, attempt, slots_max, next_slot, last, head) "
                     "VALUES(?, ?, ?, ?, ?, ?, ?)")),
      move_journal_(db.prepare("UPDATE journal SET next_slot=?, last=? WHERE job=? AND id=?")),
      newest_seq_(db.prepare("SELECT coalesce(max(seq), 0) FROM batch WHERE job=?")),
      next_seq_(db.prepare("UPDATE counter SET seq=seq+1 RETURNING seq")),
      add_batch_(db.prepare(
          "INSERT INTO batch(seq, job, attempt, received_ns, bytes) VALUES(?, ?, ?, ?, ?)")) {}

// 0: there is none.
Result<JobKey> SqliteBatches::job_of(const Append& append) {
  const auto row = find_job_.bind(1, append.tenant).bind(2, append.job).step();
  if (!row.ok()) return row.status();
  const JobKey key = row.value() ? find_job_.integer(0) : 0;
  find_job_.reset();
  return key;
}

Status SqliteBatches::add_job(const Append& append, Appended& out) {
  Status status = add_job_.bind(1, append.tenant)
                      .bind(2, append.job)
                      .bind(3, append.received_ns)
                      .bind(4, append.received_ns)
                      .run();
  if (!status.ok()) return status;
  out.job = db_.last_row();
  out.made_job = true;
  return {};
}

Status SqliteBatches::find_journal(JobKey job, const JournalId& id, ingest::ProgressMap& known) {
  Statement& find = find_journal_;
  const auto row = find.bind(1, job).bind(2, bytes_of(id)).step();
  if (!row.ok()) return row.status();
  Status status;
  if (row.value()) {
    Progress progress;
    progress.attempt = static_cast<std::uint64_t>(find.integer(0));
    progress.slots_max = static_cast<std::uint64_t>(find.integer(1));
    progress.next_slot = static_cast<std::uint64_t>(find.integer(2));
    if (!read_into(find.blob(3), progress.last)) {
      status = Status::corrupt(db_.path() +
                               ": a row of the table journal is damaged; run `headway serve "
                               "--check`, or go back to a back-up");
    }
    known[id] = progress;
  }
  find.reset();
  return status;
}

Status SqliteBatches::known_journals(JobKey job, const Append& append, ingest::ProgressMap& known) {
  Status failed;
  each_journal(*append.batch, [&](const JournalId& id) {
    if (failed.ok() && !known.contains(id)) failed = find_journal(job, id, known);
  });
  return failed;
}

Status SqliteBatches::keep(const Append& append, const ingest::ProgressMap& before,
                           const ingest::ProgressMap& after, Appended& out) {
  for (const ingest::HeadRecord& head : append.batch->heads) {
    const JournalId id = ingest::journal_id(head.journal);
    if (before.contains(id)) continue;
    const Progress& progress = after.at(id);
    Status status = add_journal_.bind(1, out.job)
                        .bind(2, bytes_of(id))
                        .bind(3, static_cast<std::int64_t>(progress.attempt))
                        .bind(4, static_cast<std::int64_t>(progress.slots_max))
                        .bind(5, static_cast<std::int64_t>(progress.next_slot))
                        .bind(6, bytes_of(progress.last))
                        .bind(7, bytes_of(head))
                        .run();
    if (!status.ok()) return status;
  }
  for (const auto& [id, progress] : after) {
    if (!before.contains(id)) continue;
    Status status = move_journal_.bind(1, static_cast<std::int64_t>(progress.next_slot))
                        .bind(2, bytes_of(progress.last))
                        .bind(3, out.job)
                        .bind(4, bytes_of(id))
                        .run();
    if (!status.ok()) return status;
  }
  auto row = newest_seq_.bind(1, out.job).step();
  if (!row.ok()) return row.status();
  out.before_seq = newest_seq_.integer(0);
  newest_seq_.reset();
  row = next_seq_.step();
  if (!row.ok()) return row.status();
  if (!row.value()) return no_counter(db_);
  out.seq = next_seq_.integer(0);
  next_seq_.reset();
  return add_batch_.bind(1, out.seq)
      .bind(2, out.job)
      .bind(3, static_cast<std::int64_t>(append.attempt))
      .bind(4, append.received_ns)
      .bind(5, append.bytes)
      .run();
}

Status SqliteBatches::append(const Append& append, Appended& out) {
  HW_CHECK(append.batch != nullptr);
  auto job = job_of(append);
  if (!job.ok()) return job.status();
  out = {};
  out.job = *job;
  ingest::ProgressMap before;
  if (out.job != 0) {
    if (Status status = known_journals(out.job, append, before); !status.ok()) return status;
  }
  ingest::ProgressMap after = before;
  out.judgement = ingest::judge(*append.batch, append.job, append.attempt, after);
  if (out.judgement.verdict == ingest::Verdict::news) {
    if (out.job == 0) {
      if (Status status = add_job(append, out); !status.ok()) return status;
    }
    if (Status status = keep(append, before, after, out); !status.ok()) return status;
  }
  for (const ingest::ChunkRecord& chunk : append.batch->chunks) {
    const auto found = after.find(chunk.journal);
    out.next.emplace_back(chunk.journal, found == after.end() ? 0 : found->second.next_slot);
  }
  // A sign of life is no news, but it is one.
  if (out.job == 0 || out.judgement.verdict == ingest::Verdict::nonsense) return {};
  return touch_job_.bind(1, append.received_ns).bind(2, out.job).run();
}

Result<std::uint64_t> SqliteBatches::forget(std::int64_t heard_before_ns, std::size_t rows_max) {
  std::vector<JobKey> jobs;
  Statement old = db_.prepare(
      "SELECT key FROM job WHERE heard_ns<? AND EXISTS(SELECT 1 FROM batch WHERE job=key) LIMIT ?");
  old.bind(1, heard_before_ns).bind(2, static_cast<std::int64_t>(rows_max));
  while (true) {
    const auto row = old.step();
    if (!row.ok()) return row.status();
    if (!row.value()) break;
    jobs.push_back(old.integer(0));
  }
  old.reset();
  Statement batches = db_.prepare("DELETE FROM batch WHERE job=?");
  Statement journals = db_.prepare("DELETE FROM journal WHERE job=?");
  std::uint64_t forgotten = 0;
  std::size_t rows = 0;
  for (const JobKey job : jobs) {
    if (rows >= rows_max) break;
    if (Status status = batches.bind(1, job).run(); !status.ok()) return status;
    rows += static_cast<std::size_t>(db_.changes());
    if (Status status = journals.bind(1, job).run(); !status.ok()) return status;
    ++forgotten;
  }
  return forgotten;
}

}  // namespace headway::store
