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
  entry->used_ns = std::max(entry->used_ns.load(), append.received_ns);
  if (appended.judgement.verdict == ingest::Verdict::news) {
    ++entry->changes;
    // Whoever reads the store gets it from there.
    if (entry->rereading ||
        !entry->keeper->took(*append.batch, slots, appended.before_seq, appended.seq)) {
      entry->behind = true;
    }
  }
}

// Reads the job anew beside those who go on taking in; they are let in again when it has caught up.
// Not all the time: a rank that is far behind would ask for it with every batch.
Status Jobs::put_in_order(Entry& entry, std::unique_lock<std::mutex>& lock, std::int64_t now_ns) {
  entry.done.wait(lock, [&] { return !entry.rereading; });
  if (!entry.keeper->must_reread() || now_ns < entry.next_reread_ns) return {};
  entry.rereading = true;
  auto fresh = std::make_unique<JobKeeper>(store_, entry.keeper->job(), false);
  lock.unlock();
  const std::int64_t begin_ns = base::clock_ns(CLOCK_MONOTONIC);
  Status status = fresh->reread();
  const std::int64_t took_ns = base::clock_ns(CLOCK_MONOTONIC) - begin_ns;
  lock.lock();
  entry.rereading = false;
  entry.done.notify_all();
  entry.next_reread_ns = now_ns + took_ns * options_.reread_share;
  if (status.ok()) status = fresh->catch_up();
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
  entry->used_ns = std::max(entry->used_ns.load(), now_ns);
  entry->keeper->heard(stored.heard_ns);
  if (Status status = put_in_order(*entry, lock, now_ns); !status.ok()) return status;
  if (Status status = catch_up(*entry, lock, stored.newest_seq); !status.ok()) return status;
  // Something may have come too late to be put where it belongs.
  if (Status status = put_in_order(*entry, lock, now_ns); !status.ok()) return status;
  const JobKeeper& keeper = *entry->keeper;
  if (keeper.seq() == 0 && !keeper.must_reread()) return forgotten(name);
  const bool alive = now_ns - keeper.job().heard_ns < options_.silent_ns && !keeper.is_final();
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

void Jobs::tend(std::int64_t now_ns) {
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
