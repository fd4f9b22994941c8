#include "fleet/facts_of.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/cut_text.h"
#include "base/job_path.h"
#include "metrics/compile_cache.h"

namespace headway::fleet {
namespace {

using timeline::AttemptResult;
using timeline::JobResult;
using timeline::Outcome;
using Attributes = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kLever = "lever.";

// What an attempt says of itself, and what others of its job say where it is silent: a launcher
// that was killed early may not have come to it. What was switched on is each attempt's own.
Attributes attributes_of(const JobResult& job, const AttemptResult& attempt,
                         const event::NameTable& names) {
  Attributes out;
  for (const auto& [key, value] : attempt.facts.attrs)
    out.insert_or_assign(std::string(names.text(key)), std::string(names.text(value)));
  for (const auto& [key, value] : job.attrs) {
    if (!key.starts_with(kLever) && !key.starts_with("failure_")) out.try_emplace(key, value);
  }
  return out;
}

std::string cut(std::string_view text) {
  return std::string(base::cut_text(text, AttemptFacts::text_max));
}

std::string text_of(const Attributes& attributes, std::string_view key) {
  const auto found = attributes.find(key);
  return found == attributes.end() ? std::string() : cut(found->second);
}

std::uint32_t devices_of(const Attributes& attributes, const AttemptResult& attempt) {
  const std::string text = text_of(attributes, "devices");
  std::uint32_t devices = 0;
  std::from_chars(text.data(), text.data() + text.size(), devices);
  constexpr std::uint32_t devices_max = 1u << 24;  // more is a mistake, and would drown all others
  if (devices == 0 || devices > devices_max) devices = attempt.ranks_expected;
  if (devices == 0) devices = attempt.ranks_reporting;
  return std::max(devices, 1u);
}

std::vector<std::string> levers_of(const Attributes& attributes) {
  std::vector<std::string> out;
  for (auto each = attributes.lower_bound(kLever);
       each != attributes.end() && each->first.starts_with(kLever); ++each) {
    const std::string& value = each->second;
    if (value.empty() || value == "0" || value == "off" || value == "false") continue;
    if (out.size() == AttemptFacts::levers_max) break;
    out.push_back(cut(std::string_view(each->first).substr(kLever.size())));
  }
  return out;
}

std::vector<std::string> hosts_of(const AttemptResult& attempt) {
  std::vector<std::string> out;
  for (const timeline::RankShare& rank : attempt.ranks) {
    if (!rank.host.empty()) out.push_back(cut(rank.host));
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (out.size() > AttemptFacts::hosts_max) out.resize(AttemptFacts::hosts_max);
  return out;
}

std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

void describe(const Attributes& attributes, const AttemptResult& attempt, AttemptFacts& out) {
  out.devices = devices_of(attributes, attempt);
  for (std::size_t i = 0; i < kDimensions; ++i) {
    out.dimensions[i] = text_of(attributes, dimension_name(static_cast<Dimension>(i)));
  }
  out.dimensions[static_cast<std::size_t>(Dimension::size)] = size_class(out.devices);
  std::string& family = out.dimensions[static_cast<std::size_t>(Dimension::family)];
  if (family.empty()) family = base_name(text_of(attributes, "script"));
  out.levers = levers_of(attributes);
  out.hosts = hosts_of(attempt);
}

// Attempt `i` is told from out[i] to out[i + 1]: from the end of the one before, so that waiting is
// counted with the attempt that was waited for.
std::vector<std::int64_t> boundaries_of(const JobResult& job) {
  std::int64_t begin_ns = job.ledger.begin_ns();
  if (!job.outside.empty()) begin_ns = std::min(begin_ns, job.outside.front().t0_ns);
  std::vector<std::int64_t> out{begin_ns};
  for (std::size_t i = 0; i + 1 < job.attempts.size(); ++i) {
    out.push_back(std::max(out.back(), job.attempts[i].end_ns));
  }
  out.push_back(std::max(job.ledger.end_ns(), out.back()));
  return out;
}

void slice(const JobResult& job, std::int64_t from_ns, std::int64_t to_ns, AttemptFacts& out) {
  const auto add = [&](std::int32_t day, std::int64_t t0, std::int64_t t1) {
    const timeline::Account account = job.ledger.window(t0, t1);
    out.slices.push_back({day, account.sums, account.failure_ns, job.outside_ns(true, t0, t1), 0});
  };
  std::int64_t t0 = from_ns;
  while (t0 < to_ns) {
    const std::int32_t day = day_of(t0);
    const bool last = out.slices.size() + 1 == AttemptFacts::slices_max;
    const std::int64_t t1 = last ? to_ns : std::min(to_ns, (std::int64_t{day} + 1) * kDayNs);
    add(day, t0, t1);
    t0 = t1;
  }
  if (out.slices.empty()) add(day_of(from_ns), from_ns, from_ns);
}

Start start_between(const JobResult& job, std::int64_t from_ns, std::int64_t to_ns, bool recovery) {
  Start start;
  start.from_ns = std::min(from_ns, to_ns);
  start.trained_ns = to_ns;
  start.recovery = recovery;
  start.parts = job.ledger.window(start.from_ns, to_ns).sums;
  start.outside_ns = start.length_ns() - start.parts.total();
  return start;
}

FailureFact failure_of(const JobResult& job, std::size_t i, const Attributes& attributes) {
  const AttemptResult& attempt = job.attempts[i];
  FailureFact out;
  out.t_ns = attempt.failure->t_ns;
  const int origin = attempt.failure->info.origin;
  out.origin = origin >= 1 && origin <= 4 ? static_cast<Origin>(origin) : Origin::unknown;
  out.category = text_of(attributes, "failure_category");
  for (const timeline::RankShare& rank : attempt.ranks) {
    if (rank.rank == attempt.failure->info.rank) {
      out.host = cut(rank.host);
    }
  }
  out.unsaved_ns = job.unsaved_by_attempt_ns[i];
  out.lost_ns = attempt.failure_post_ns;
  if (i + 1 < job.attempts.size()) {
    out.lost_ns += job.down_before_ns[i + 1] + job.attempts[i + 1].failure_pre_ns;
  }
  for (std::size_t k = i + 1; k < job.attempts.size(); ++k) {
    if (!job.attempts[k].first_trained_ns) continue;
    out.time_to_recover_ns =
        std::max<std::int64_t>(0, *job.attempts[k].first_trained_ns - out.t_ns);
    break;
  }
  return out;
}

// What was unpacked is there for all attempts of an allocation, which one launcher starts one after
// the other, but it is noted with the first of them alone.
class CacheNotes {
 public:
  std::optional<CacheFact> next(const AttemptResult& attempt, const event::NameTable& names) {
    const std::int64_t allocation =
        attempt.id / static_cast<std::int64_t>(base::kLaunchesPerAllocation);
    if (allocation != allocation_) asked_ = unpacked_ = false;
    allocation_ = allocation;
    const auto told = metrics::compile_cache_of(attempt, names);
    if (!told && !asked_) return std::nullopt;
    const metrics::CompileCache noted = told.value_or(metrics::CompileCache());
    asked_ = asked_ || noted.pulls > 0;
    unpacked_ = unpacked_ || noted.pulled_archives > 0;
    const auto graphs = [](std::uint64_t count) {
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
    };
    return CacheFact{.asked = asked_,
                     .unpacked = unpacked_,
                     .hits = graphs(noted.hits),
                     .misses = graphs(noted.misses),
                     .bypasses = graphs(noted.bypasses),
                     .original_ns = noted.original_ns,
                     .spent_ns = noted.spent_ns};
  }

 private:
  std::int64_t allocation_ = -1;
  bool asked_ = false, unpacked_ = false;
};

// Follows a job's attempts: since when it has been waiting to train.
class Waiting {
 public:
  explicit Waiting(const JobResult& job) : job_(job) {}
  // Of attempt `i`, if it got to training.
  std::optional<Start> next(std::size_t i, std::int64_t begin_ns) {
    const AttemptResult& attempt = job_.attempts[i];
    std::optional<Start> start;
    if (attempt.first_trained_ns) {
      const std::int64_t first = job_.allocated_ns.value_or(job_.ledger.begin_ns());
      const std::int64_t own = attempt.facts.allocated_ns.value_or(begin_ns);
      start = start_between(job_,
                            failed_    ? failed_since_ns_
                            : trained_ ? own
                                       : first,
                            *attempt.first_trained_ns, failed_);
      trained_ = true;
      failed_ = false;
    }
    // Until the job has trained for the first time, it is starting, whatever befalls it.
    if (trained_ && !failed_ && attempt.outcome != Outcome::clean) {
      failed_ = true;
      failed_since_ns_ = attempt.failure ? attempt.failure->t_ns : attempt.end_ns;
    }
    return start;
  }

 private:
  const JobResult& job_;
  bool trained_ = false;
  bool failed_ = false;
  std::int64_t failed_since_ns_ = 0;
};

}  // namespace

std::vector<AttemptFacts> facts_of(const JobResult& job, const event::NameTable& names) {
  std::vector<AttemptFacts> out;
  if (job.attempts.empty()) return out;
  const std::vector<std::int64_t> boundaries = boundaries_of(job);
  Waiting waiting(job);
  CacheNotes caches;
  for (std::size_t i = 0; i < job.attempts.size(); ++i) {
    const AttemptResult& attempt = job.attempts[i];
    const Attributes attributes = attributes_of(job, attempt, names);
    AttemptFacts& facts = out.emplace_back();
    facts.attempt = attempt.id;
    describe(attributes, attempt, facts);
    facts.begin_ns = i == 0 ? job.ledger.begin_ns() : attempt.launch_ns - job.down_before_ns[i];
    facts.end_ns = std::max(facts.begin_ns, attempt.end_ns);
    const bool last = i + 1 == job.attempts.size();
    facts.ending = attempt.outcome == Outcome::clean    ? Ending::clean
                   : attempt.outcome == Outcome::failed ? Ending::failed
                   : last                               ? Ending::running
                                                        : Ending::failed;
    slice(job, boundaries[i], boundaries[i + 1], facts);
    facts.slices.back().saves =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(attempt.facts.saves, UINT32_MAX));
    facts.start = waiting.next(i, facts.begin_ns);
    if (attempt.failure) facts.failure = failure_of(job, i, attributes);
    facts.cache = caches.next(attempt, names);
  }
  return out;
}

}  // namespace headway::fleet
