#include "collector/jobs.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace headway::collector {

using base::Result;
using base::Status;

std::shared_ptr<Jobs::Entry> Jobs::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second;
}

std::shared_ptr<Jobs::Entry> Jobs::find_or_add(const Key& key, const store::JobRow& row,
                                               bool fresh) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Entry>& entry = entries_[key];
  if (!entry) {
    entry = std::make_shared<Entry>();
    entry->keeper = std::make_unique<JobKeeper>(store_, row, fresh);
  }
  return entry;
}

void Jobs::took(const store::Append& append, const store::Appended& appended, bool fresh,
                std::span<event::Record> slots) {
  if (appended.job == 0) return;
  const store::JobRow row{appended.job, append.tenant, append.job, append.received_ns,
                          append.received_ns};
  const auto entry = find_or_add({append.tenant, append.job}, row, fresh);
  const std::lock_guard lock(entry->mutex);
  entry->keeper->heard(append.received_ns);
  entry->used_ns = entry->silent_since_ns = base::monotonic_ns();
  if (appended.judgement.verdict == ingest::Verdict::news) {
    ++entry->changes;
    // Whoever reads the store gets it from there.
    if (entry->rereading ||
        !entry->keeper->took(*append.batch, slots, appended.before_seq, appended.seq)) {
      entry->behind = true;
    }
  }
}

// What the store says of when a job was last heard of is by clocks that people set. One in the
// future was ahead then and says nothing; whoever runs is heard of again in a moment.
void Jobs::look_at_row(Entry& entry, const store::JobRow& stored, std::int64_t now_ns) const {
  const std::int64_t steady_ns = base::monotonic_ns();
  const std::int64_t silent_ns = now_ns - stored.heard_ns;
  const bool ahead = silent_ns < -options_.clocks_differ_ns;
  if (!ahead && silent_ns < options_.silent_ns) {
    entry.silent_since_ns =
        std::max(entry.silent_since_ns, steady_ns - std::max<std::int64_t>(silent_ns, 0));
  }
  // Others have taken something in since it was last looked at, whatever their clocks say.
  if (entry.seen_seq != 0 && stored.newest_seq > entry.seen_seq) entry.silent_since_ns = steady_ns;
  entry.seen_seq = std::max(entry.seen_seq, stored.newest_seq);
  entry.keeper->heard(stored.heard_ns);
}

// Reads the job anew beside those who go on taking in; they are let in again when it has caught up.
// Not all the time: a rank that is far behind would ask for it with every batch.
Status Jobs::put_in_order(Entry& entry, std::unique_lock<std::mutex>& lock) {
  entry.done.wait(lock, [&] { return !entry.rereading; });
  if (!entry.keeper->must_reread()) return {};
  const std::int64_t begin_ns = base::monotonic_ns();
  if (begin_ns < entry.next_reread_ns) return entry.trouble;
  entry.rereading = true;
  auto fresh = std::make_unique<JobKeeper>(store_, entry.keeper->job(), false);
  lock.unlock();
  Status status = fresh->reread();
  const std::int64_t end_ns = base::monotonic_ns();
  lock.lock();
  entry.rereading = false;
  entry.done.notify_all();
  entry.next_reread_ns = end_ns + (end_ns - begin_ns) * options_.reread_share;
  if (status.ok()) status = fresh->catch_up();
  entry.trouble = status;
  if (!status.ok()) return status;
  entry.behind = false;
  fresh->heard(entry.keeper->job().heard_ns);
  entry.keeper = std::move(fresh);
  return {};
}

// What others have appended, or what came while somebody read: those who take in go on meanwhile.
Status Jobs::catch_up(Entry& entry, std::unique_lock<std::mutex>& lock, std::int64_t newest_seq) {
  if (entry.keeper->must_reread() || (!entry.behind && entry.keeper->seq() >= newest_seq))
    return {};
  entry.rereading = true;
  entry.behind = false;
  lock.unlock();
  Status status = entry.keeper->catch_up();
  lock.lock();
  entry.rereading = false;
  entry.done.notify_all();
  if (!status.ok()) entry.behind = true;
  return status;
}

namespace {

Status forgotten(const std::string& name) {
  return Status::not_found("the records of job " + name +
                           " were forgotten for their age; what its attempts came to may still be "
                           "in the fleet's account");
}

}  // namespace

Result<bool> Jobs::view(const std::string& tenant, const std::string& name, std::int64_t now_ns,
                        const std::function<void(const JobView&)>& use) {
  const Key key(tenant, name);
  std::shared_ptr<Entry> entry = find(key);
  store::JobRow stored;
  if (!entry || store_.is_shared()) {
    auto row = store_.find_job(tenant, name);
    if (!row.ok()) return row.status();
    if (!row->has_value()) return false;
    stored = row->value();
    if (!entry && stored.newest_seq == 0) return forgotten(name);
    if (!entry) entry = find_or_add(key, stored, false);
  }
  std::unique_lock lock(entry->mutex);
  entry->used_ns = base::monotonic_ns();
  if (stored.key != 0) look_at_row(*entry, stored, now_ns);
  if (Status status = put_in_order(*entry, lock); !status.ok()) return status;
  if (Status status = catch_up(*entry, lock, stored.newest_seq); !status.ok()) return status;
  // Something may have come too late to be put where it belongs.
  if (Status status = put_in_order(*entry, lock); !status.ok()) return status;
  const JobKeeper& keeper = *entry->keeper;
  if (keeper.seq() == 0 && !keeper.must_reread()) return forgotten(name);
  const bool alive = entry->silent_since_ns != INT64_MIN && !keeper.is_final() &&
                     base::monotonic_ns() - entry->silent_since_ns < options_.silent_ns;
  const timeline::JobResult result = keeper.snapshot(alive ? std::optional(now_ns) : std::nullopt);
  const event::JobStreams names = keeper.names();
  use({keeper.job(), alive, result, names, keeper.seq()});
  return true;
}

std::vector<Heard> Jobs::heard() const {
  const std::lock_guard lock(mutex_);
  std::vector<Heard> out;
  for (const auto& [key, entry] : entries_) out.push_back({key.first, key.second, entry->changes});
  return out;
}

void Jobs::tend() {
  const std::int64_t now_ns = base::monotonic_ns();
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const auto& each) {
    Entry& entry = *each.second;
    const std::unique_lock own(entry.mutex, std::try_to_lock);
    return own.owns_lock() && !entry.rereading && now_ns - entry.used_ns > options_.idle_ns;
  });
  while (entries_.size() > options_.jobs_max) {
    const auto oldest = std::ranges::min_element(
        entries_, {}, [](const auto& each) { return each.second->used_ns.load(); });
    entries_.erase(oldest);
  }
}

std::size_t Jobs::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace headway::collector
