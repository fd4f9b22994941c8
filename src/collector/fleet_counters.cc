#include "collector/fleet_counters.h"

#include <algorithm>

#include "base/check.h"
#include "fleet/bucket_words.h"
#include "interchange/json_text.h"

namespace headway::collector {

using base::Int128;
using fleet::Chunk;
using interchange::Families;
using interchange::FamilyType;
using interchange::Labels;
using interchange::Seconds;

namespace {

constexpr std::array<fleet::Origin, 4> kOriginsInOrder = {
    fleet::Origin::infra, fleet::Origin::preemption, fleet::Origin::user, fleet::Origin::unknown};

std::size_t bin_of(std::int64_t ns) {
  const auto& bounds = FleetCounters::kBounds_s;
  const double seconds = static_cast<double>(ns) / 1e9;
  return static_cast<std::size_t>(std::ranges::lower_bound(bounds, seconds) - bounds.begin());
}

Labels with(const Labels& labels, std::string_view key, std::string_view value) {
  Labels out = labels;
  out.emplace_back(key, value);
  return out;
}

std::uint64_t count(const Counter& counter) {
  return static_cast<std::uint64_t>(counter.told());
}

}  // namespace

FleetCounters::LabelKey FleetCounters::key_of(const Chunk& chunk, std::uint32_t at) {
  LabelKey key = 0;
  for (const fleet::Dimension dimension : kDimensions) {
    key = key << 16 | chunk.dimensions[static_cast<std::size_t>(dimension)][at];
  }
  return key;
}

// Those that have no name yet, the largest first, as long as there is room.
void FleetCounters::name_newcomers(const fleet::Snapshot& snapshot) {
  std::unordered_map<LabelKey, Int128> newcomers;
  for (const auto& chunk : snapshot.chunks()) {
    for (const Chunk::Job& job : chunk->jobs) {
      for (std::uint32_t at = job.first; job.live && at < job.first + job.count; ++at) {
        const LabelKey key = key_of(*chunk, at);
        if (named_.contains(key)) continue;
        if (newcomers.size() >= newcomers_max && !newcomers.contains(key)) continue;
        for (std::uint32_t i = chunk->first_slice[at]; i < chunk->first_slice[at + 1]; ++i) {
          newcomers[key] += Int128{chunk->wall_ns[i]} * chunk->devices[at];
        }
      }
    }
  }
  std::vector<std::pair<LabelKey, Int128>> ranked(newcomers.begin(), newcomers.end());
  std::ranges::sort(ranked, [](const auto& x, const auto& y) {
    return x.second != y.second ? x.second > y.second : x.first < y.first;
  });
  const std::size_t room = label_sets_max - named_.size();
  for (std::size_t i = 0; i < std::min(room, ranked.size()); ++i) {
    const LabelKey key = ranked[i].first;
    Labels labels;
    for (std::size_t d = 0; d < kDimensions.size(); ++d) {
      const auto id =
          static_cast<std::uint32_t>(key >> (16 * (kDimensions.size() - 1 - d)) & 0xffff);
      labels.emplace_back(fleet::dimension_name(kDimensions[d]),
                          interchange::valid_utf8(snapshot.values(kDimensions[d])[id]));
    }
    // Texts that read alike once they are UTF-8, or like those of the rest, are one.
    const auto same = std::ranges::find(told_, labels, &Told::labels);
    named_.emplace(key, static_cast<std::uint32_t>(same - told_.begin()));
    if (same == told_.end()) told_.emplace_back().labels = std::move(labels);
  }
}

void FleetCounters::add_attempt(const Chunk& chunk, std::uint32_t at, std::int32_t recent_from,
                                Account& to) {
  const Int128 devices = chunk.devices[at];
  ++to.attempts;
  to.cache.add(chunk, at);
  for (std::uint32_t i = chunk.first_slice[at]; i < chunk.first_slice[at + 1]; ++i) {
    chunk.slice_buckets(i).each(
        [&](std::size_t bucket, std::int64_t ns) { to.device_ns[bucket] += devices * ns; });
    to.failure_ns += devices * chunk.failure_ns[i];
    to.queued_ns += chunk.queued_ns[i];
    to.saves += chunk.saves[i];
    if (chunk.day[i] < recent_from) continue;
    to.recent_ns += devices * chunk.wall_ns[i];
    to.recent_effective_ns += devices * chunk.effective_ns[i];
    to.recent_failure_ns += devices * chunk.failure_ns[i];
  }
  if (const std::uint32_t row = chunk.start[at]; row != Chunk::kNone) {
    const std::int64_t ns = chunk.trained_ns[row] - chunk.from_ns[row];
    const bool recovery = chunk.recovery[row] != 0;
    ++(recovery ? to.recoveries : to.starts)[bin_of(ns)];
    (recovery ? to.recoveries_ns : to.starts_ns) += ns;
  }
  if (const std::uint32_t row = chunk.failure[at]; row != Chunk::kNone) {
    const auto& failure = chunk.failures[row];
    const auto origin = static_cast<std::uint8_t>(failure.origin);
    HW_CHECK(origin >= 1 && origin <= kOrigins);
    ++to.origins[origin - 1];
    ++to.causes[{origin, failure.category}];
    to.unsaved_ns += devices * failure.unsaved_ns;
  }
}

void FleetCounters::add(const Chunk& chunk, const Chunk::Job& job, std::int64_t now_ns,
                        std::vector<Account>& accounts) const {
  if (!job.live || job.count == 0) return;
  const std::int32_t recent_from = fleet::day_of(now_ns) - recent_days + 1;
  LabelKey last = 0;
  Account* account = nullptr;
  for (std::uint32_t at = job.first; at < job.first + job.count; ++at) {
    const LabelKey key = key_of(chunk, at);
    if (account == nullptr || key != last) {
      const auto found = named_.find(key);
      account = &accounts[found == named_.end() ? 0 : found->second];
      last = key;
    }
    add_attempt(chunk, at, recent_from, *account);
  }
  const std::uint32_t newest = job.first + job.count - 1;
  const std::int64_t quiet_ns = now_ns - chunk.end_ns[newest];
  if (chunk.ending[newest] != fleet::Ending::running || quiet_ns > unended_ns) return;
  if (quiet_ns > silent_ns) {
    ++account->jobs_unended;
    return;
  }
  ++account->jobs_running;
  account->devices_running += chunk.devices[newest];
}

template <typename F>
void FleetCounters::each_counter(Told& told, const Account& account, F&& f) {
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) f(told.device_ns[i], account.device_ns[i]);
  f(told.failure_ns, account.failure_ns);
  f(told.unsaved_ns, account.unsaved_ns);
  f(told.queued_ns, account.queued_ns);
  f(told.attempts, Int128{account.attempts});
  f(told.saves, Int128{account.saves});
  f(told.graphs[0], Int128{account.cache.hits});
  f(told.graphs[1], Int128{account.cache.misses});
  f(told.graphs[2], Int128{account.cache.bypasses});
  f(told.cache_original_ns, account.cache.original_ns);
  f(told.cache_spent_ns, account.cache.spent_ns);
  for (std::size_t i = 0; i < kOrigins; ++i) f(told.origins[i], Int128{account.origins[i]});
  for (std::size_t i = 0; i < account.starts.size(); ++i) {
    f(told.starts[i], Int128{account.starts[i]});
    f(told.recoveries[i], Int128{account.recoveries[i]});
  }
  f(told.starts_ns, account.starts_ns);
  f(told.recoveries_ns, account.recoveries_ns);
}

// By name: a cause that has one keeps it, new ones get one as long as there is room.
std::map<std::pair<std::uint8_t, std::string>, std::uint64_t> FleetCounters::causes_of(
    const Told& told, const Account& account, const fleet::DictionaryView& categories) {
  std::map<std::pair<std::uint8_t, std::string>, std::uint64_t> out;
  std::size_t named = 0;
  for (const auto& [cause, counter] : told.causes) {
    out.emplace(cause, 0);  // also where the account has none of it any more
    named += cause.second == kOther ? 0 : 1;
  }
  for (const auto& [cause, failures] : account.causes) {
    const std::string_view text = categories[cause.second];
    std::pair<std::uint8_t, std::string> key{
        cause.first, text.empty() ? std::string("unjudged") : interchange::valid_utf8(text)};
    if (!out.contains(key)) {
      if (named < causes_max) {
        ++named;
      } else {
        key.second = kOther;
      }
    }
    out[key] += failures;
  }
  return out;
}

void FleetCounters::take_set(Told& told, Account account, const fleet::DictionaryView& categories) {
  const bool forgotten = account.attempts < told.last.attempts;
  const bool begins = !begun_ && !told.begun;
  told.begun = true;
  const auto take = [&](Counter& counter, Int128 now) {
    if (begins) counter.begin(now);
    counter.take(now, forgotten);
  };
  each_counter(told, account, take);
  for (const auto& [cause, failures] : causes_of(told, account, categories)) {
    take(told.causes[cause], Int128{failures});
  }
  told.last = std::move(account);
}

void FleetCounters::take(const fleet::Snapshot& snapshot, std::int64_t now_ns) {
  if (snapshot.version() < version_) return;  // what it lacks is not forgotten, but not there yet
  version_ = snapshot.version();
  if (told_.empty()) {
    Told& rest = told_.emplace_back();
    for (const fleet::Dimension dimension : kDimensions) {
      rest.labels.emplace_back(fleet::dimension_name(dimension), kOther);
    }
  }
  if (named_.size() < label_sets_max) name_newcomers(snapshot);
  std::vector<Account> accounts(told_.size());
  for (const auto& chunk : snapshot.chunks()) {
    for (const Chunk::Job& job : chunk->jobs) add(*chunk, job, now_ns, accounts);
  }
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    take_set(told_[i], std::move(accounts[i]), snapshot.categories());
  }
  begun_ = true;
}

void FleetCounters::append_times(Families& out) const {
  const auto shown = [](const Told& told) { return told.last.attempts > 0; };
  out.begin("headway_fleet_device_seconds", FamilyType::counter, "seconds",
            "Time of devices by bucket of the partition, since this collector began to count.");
  for (const Told& told : told_) {
    for (std::size_t i = 0; shown(told) && i < timeline::kBuckets; ++i) {
      const auto bucket = static_cast<timeline::Bucket>(i);
      Labels labels = with(told.labels, "group", timeline::group_name(timeline::group_of(bucket)));
      labels.emplace_back("bucket", fleet::bucket_word(bucket));
      out.add(std::move(labels), Seconds{told.device_ns[i].told()});
    }
  }
  const auto each = [&](std::string_view name, std::string_view help, Counter Told::* counter) {
    out.begin(std::string(name), FamilyType::counter, "seconds", help);
    for (const Told& told : told_) {
      if (shown(told)) out.add(told.labels, Seconds{(told.*counter).told()});
    }
  };
  each("headway_fleet_failure_device_seconds",
       "Time of devices that failures cost, in whichever bucket it lies.", &Told::failure_ns);
  each("headway_fleet_unsaved_device_seconds",
       "Time of devices in finished steps that were lost for want of a checkpoint.",
       &Told::unsaved_ns);
  each("headway_fleet_queued_seconds", "Time that jobs waited for resources, beside all buckets.",
       &Told::queued_ns);
}

void FleetCounters::append_counts(Families& out) const {
  const auto each = [&](std::string_view name, std::string_view help, Counter Told::* counter) {
    out.begin(std::string(name), FamilyType::counter, "", help);
    for (const Told& told : told_) {
      if (told.last.attempts > 0) out.add(told.labels, count(told.*counter));
    }
  };
  each("headway_fleet_attempts", "Attempts that have begun.", &Told::attempts);
  each("headway_fleet_checkpoints", "Checkpoints saved.", &Told::saves);
  out.begin("headway_fleet_failures", FamilyType::counter, "",
            "Attempts that failed, by where it came from.");
  for (const Told& told : told_) {
    for (std::size_t i = 0; told.last.attempts > 0 && i < kOrigins; ++i) {
      out.add(with(told.labels, "origin", fleet::origin_name(kOriginsInOrder[i])),
              count(told.origins[i]));
    }
  }
  out.begin("headway_fleet_failure_causes", FamilyType::counter, "",
            "The same by cause, as headway why names it; a cause is here once it has occurred.");
  for (const Told& told : told_) {
    for (const auto& [cause, counter] : told.causes) {
      Labels labels =
          with(told.labels, "origin", fleet::origin_name(static_cast<fleet::Origin>(cause.first)));
      labels.emplace_back("category", cause.second);
      out.add(std::move(labels), count(counter));
    }
  }
}

// Both times, not what was saved: that may shrink, which a counter must not.
void FleetCounters::append_caches(Families& out) const {
  out.begin("headway_fleet_compile_cache_graphs", FamilyType::counter, "",
            "Graphs of torch.compile that were found in a cache, were not, or cannot be kept.");
  for (const Told& told : told_) {
    for (std::size_t i = 0; told.last.attempts > 0 && i < kGraphs.size(); ++i) {
      out.add(with(told.labels, "outcome", kGraphs[i]), count(told.graphs[i]));
    }
  }
  out.begin("headway_fleet_compile_cache_seconds", FamilyType::counter, "seconds",
            "What was wholly found took so long to compile once (original), and to find (spent): "
            "the difference was saved. Of each attempt its slowest rank.");
  for (const Told& told : told_) {
    if (told.last.attempts == 0) continue;
    out.add(with(told.labels, "of", "original"), Seconds{told.cache_original_ns.told()});
    out.add(with(told.labels, "of", "spent"), Seconds{told.cache_spent_ns.told()});
  }
}

void FleetCounters::append_durations(Families& out) const {
  const auto each = [&](std::string_view name, std::string_view help, const auto& bins,
                        Counter Told::* sum) {
    interchange::Family& family =
        out.begin(std::string(name), FamilyType::histogram, "seconds", help);
    family.bounds.assign(kBounds_s.begin(), kBounds_s.end());
    for (const Told& told : told_) {
      if (told.last.attempts == 0) continue;
      interchange::Histogram histogram;
      for (const Counter& bin : told.*bins) histogram.counts.push_back(count(bin));
      histogram.sum = Seconds{(told.*sum).told()};
      out.add(told.labels, std::move(histogram));
    }
  };
  each("headway_fleet_time_to_start_seconds", "From the allocation to the first trained batch.",
       &Told::starts, &Told::starts_ns);
  each("headway_fleet_time_to_recover_seconds", "From a failure to training again.",
       &Told::recoveries, &Told::recoveries_ns);
}

void FleetCounters::append_gauges(Families& out) const {
  out.begin(
      "headway_fleet_share_ratio", FamilyType::gauge, "ratio",
      "Shares of device time on the last seven days (UTC, today included); they add up to 1.");
  for (const Told& told : told_) {
    const Account& now = told.last;
    if (now.recent_ns <= 0) continue;
    const auto share = [&](std::string_view of, Int128 ns) {
      out.add(with(told.labels, "of", of),
              static_cast<double>(ns) / static_cast<double>(now.recent_ns));
    };
    share("effective", now.recent_effective_ns);
    share("failure", now.recent_failure_ns);
    share("idleness", now.recent_ns - now.recent_effective_ns - now.recent_failure_ns);
  }
  out.begin("headway_fleet_recent_device_seconds", FamilyType::gauge, "seconds",
            "Time of devices on the same days, which shares of several label sets are made from.");
  for (const Told& told : told_) {
    const Account& now = told.last;
    if (now.recent_ns <= 0) continue;
    const auto time = [&](std::string_view of, Int128 ns) {
      out.add(with(told.labels, "of", of), Seconds{ns});
    };
    time("effective", now.recent_effective_ns);
    time("failure", now.recent_failure_ns);
    time("idleness", now.recent_ns - now.recent_effective_ns - now.recent_failure_ns);
  }
  const auto each = [&](std::string_view name, std::string_view help, std::uint64_t Account::* of) {
    out.begin(std::string(name), FamilyType::gauge, "", help);
    for (const Told& told : told_) {
      if (told.last.attempts > 0) out.add(told.labels, told.last.*of);
    }
  };
  each("headway_fleet_running_jobs", "Jobs that run.", &Account::jobs_running);
  each("headway_fleet_running_devices", "Devices that running jobs hold.",
       &Account::devices_running);
  each("headway_fleet_unended_jobs",
       "Jobs that have not ended and have recorded nothing for five minutes, on the last day.",
       &Account::jobs_unended);
  out.begin("headway_fleet_label_sets", FamilyType::gauge, "",
            "Label sets with a name of their own here; beyond the limit they are told as other.");
  out.add({}, std::uint64_t{named_.size()});
  out.begin("headway_fleet_label_sets_limit", FamilyType::gauge, "", "So many may there be.");
  out.add({}, std::uint64_t{label_sets_max});
}

void FleetCounters::append_to(Families& out) const {
  append_times(out);
  append_counts(out);
  append_caches(out);
  append_durations(out);
  append_gauges(out);
}

}  // namespace headway::collector
