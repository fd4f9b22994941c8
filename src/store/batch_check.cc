#include "store/batch_check.h"

#include <fmt/format.h>

#include <cstring>

#include "base/hash.h"
#include "store/batch_journals.h"

namespace headway::store {
namespace {

using base::Result;
using base::Status;
using ingest::Progress;
using ingest::ProgressMap;

Result<ProgressMap> journals_of(Store& store, JobKey job) {
  auto rows = store.journals(job);
  if (!rows.ok()) return rows.status();
  ProgressMap out;
  for (const JournalRow& row : *rows) out[ingest::journal_id(row.head.journal)] = row.progress;
  return out;
}

bool same(const Progress& a, const Progress& b) {
  return a.attempt == b.attempt && a.slots_max == b.slots_max && a.next_slot == b.next_slot &&
         std::memcmp(&a.last, &b.last, sizeof(a.last)) == 0;
}

class JobCheck {
 public:
  JobCheck(Store& store, const JobRow& job, std::vector<std::string>& wrong)
      : store_(store), job_(job), wrong_(wrong) {}

  Status run() {
    auto newest = store_.newest_seq(job_.key);
    if (!newest.ok()) return newest.status();
    auto before = journals_of(store_, job_.key);
    if (!before.ok()) return before.status();
    Status status = store_.batches(job_.key, std::nullopt, 0, [&](const BatchRow& row) {
      look_at(row);
      return wrong_.size() < check_lines_max;
    });
    if (!status.ok()) return status;
    auto after = journals_of(store_, job_.key);
    if (!after.ok()) return after.status();
    // Batches that came while we read may be in or not.
    if (last_seq_ < *newest) say(fmt::format("batch {}, its newest, is missing", *newest));
    compare(*before, *after);
    return {};
  }

 private:
  void say(const std::string& what) {
    if (wrong_.size() < check_lines_max) {
      wrong_.push_back(fmt::format("job {} of tenant {}: {}", job_.name, job_.tenant, what));
    }
  }

  void look_at(const BatchRow& row) {
    const std::string what = fmt::format("batch {}", row.seq);
    if (row.seq <= last_seq_) say(what + ": is told after one with a larger number");
    last_seq_ = row.seq;
    auto batch = ingest::Batch::parse(row.bytes, what);
    if (!batch.ok()) return say(batch.status().message());
    ProgressMap known = known_to(*batch, found_);
    const auto judgement = ingest::judge(*batch, job_.name, row.attempt, known);
    for (const auto& [id, progress] : known) found_[id] = progress;
    if (judgement.verdict == ingest::Verdict::news) return;
    say(what +
        (judgement.why.empty() ? ": does not follow from those before it" : ": " + judgement.why));
  }

  void compare(const ProgressMap& before, const ProgressMap& after) {
    for (const auto& [id, progress] : after) {
      const auto found = found_.find(id);
      const std::uint64_t has = found == found_.end() ? 0 : found->second.next_slot;
      const auto was = before.find(id);
      const std::uint64_t least = was == before.end() ? 0 : was->second.next_slot;
      const bool still = was != before.end() && same(was->second, progress);
      const bool fits = still ? found != found_.end() && same(found->second, progress)
                              : has >= least && has <= progress.next_slot;
      if (fits) continue;
      say(fmt::format("journal {}: is at slot {}, but its batches end at {}", base::hex(id),
                      progress.next_slot, has));
    }
    for (const auto& [id, progress] : found_) {
      if (after.contains(id)) continue;
      say(fmt::format("journal {}: has batches but no row", base::hex(id)));
    }
  }

  Store& store_;
  const JobRow& job_;
  std::vector<std::string>& wrong_;
  ProgressMap found_;
  std::int64_t last_seq_ = 0;
};

}  // namespace

Status check_batches(Store& store, std::vector<std::string>& wrong) {
  auto jobs = store.jobs("", SIZE_MAX);
  if (!jobs.ok()) return jobs.status();
  for (const JobRow& job : *jobs) {
    if (wrong.size() >= check_lines_max) return {};
    if (Status status = JobCheck(store, job, wrong).run(); !status.ok()) return status;
  }
  return {};
}

}  // namespace headway::store
