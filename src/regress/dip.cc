#include "regress/dip.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "regress/component.h"
#include "regress/observe.h"

namespace headway::regress {
namespace {

using timeline::Bucket;
using timeline::kBuckets;

// Device time of a segment on one side.
struct Account {
  double wall = 0, effective = 0;
  std::array<double, kBuckets> stage{};             // without what failures took; effective stays 0
  double failure = 0;                               // what they took of all stages
  std::map<std::string, double, std::less<>> lost;  // by category; only their proportions count
};

constexpr std::string_view kUnattributed = "unattributed";

bool always_failure(Bucket bucket) {
  return bucket == Bucket::down || bucket == Bucket::wasted_replay ||
         bucket == Bucket::wasted_interrupted_step || bucket == Bucket::wasted_hang;
}

// Failure% holds these buckets whole, and of the others (a start after a failure) their part.
void add_slice(const fleet::Slice& slice, double devices, Account& account) {
  double always = 0, others = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    const double ns = static_cast<double>(slice.sums[bucket]);
    account.wall += ns * devices;
    if (bucket == Bucket::effective) {
      account.effective += ns * devices;
    } else {
      (always_failure(bucket) ? always : others) += ns;
    }
  }
  const auto failure = static_cast<double>(slice.failure_ns);
  const double of_always = always > 0 ? std::clamp(failure / always, 0.0, 1.0) : 0;
  const double of_others = others > 0 ? std::clamp((failure - always) / others, 0.0, 1.0) : 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    if (bucket == Bucket::effective) continue;
    const double device_ns = static_cast<double>(slice.sums[bucket]) * devices;
    const double part = device_ns * (always_failure(bucket) ? of_always : of_others);
    account.failure += part;
    account.stage[i] += device_ns - part;
  }
}

using Accounts = std::unordered_map<std::string, Account>;

Accounts account(std::span<const fleet::AttemptFacts> facts, const Side& side,
                 const DipOptions& options) {
  Accounts out;
  std::string key;
  for (const std::size_t i : side.attempts) {
    const fleet::AttemptFacts& attempt = facts[i];
    key.clear();
    for (const fleet::Dimension dimension : options.segments) {
      key += attempt.dimensions[static_cast<std::size_t>(dimension)];
      key += '\0';
    }
    if (out.size() >= DipOptions::segments_max && !out.contains(key)) key.clear();
    Account& own = out[key];
    for (const fleet::Slice& slice : attempt.slices) {
      if (slice.day < side.first_day || slice.day > side.last_day) continue;
      add_slice(slice, attempt.devices, own);
    }
    if (!attempt.failure) continue;
    const std::int32_t day = fleet::day_of(attempt.failure->t_ns);
    if (day < side.first_day || day > side.last_day) continue;
    own.lost[std::string(*failure_category(attempt, true))] +=
        static_cast<double>(std::max<std::int64_t>(attempt.failure->lost_ns, 0)) * attempt.devices;
  }
  std::erase_if(out, [](const auto& each) { return each.second.wall <= 0; });
  return out;
}

double wall_of(const Accounts& accounts) {
  double sum = 0;
  for (const auto& [key, each] : accounts) sum += each.wall;
  return sum;
}

double ett_of(const Accounts& accounts, double wall) {
  double sum = 0;
  for (const auto& [key, each] : accounts) sum += each.effective;
  return sum / wall;
}

// Of a segment's failure share, what each category has.
std::map<std::string, double, std::less<>> failure_shares(const Account& account) {
  std::map<std::string, double, std::less<>> out;
  double all = 0;
  for (const auto& [category, lost] : account.lost) all += lost;
  const double share = account.failure / account.wall;
  if (all <= 0) {
    if (share > 0) out.emplace(kUnattributed, share);
    return out;
  }
  for (const auto& [category, lost] : account.lost) out[category] = share * lost / all;
  return out;
}

class Terms {
 public:
  void mix(double share) { mix_ += share; }
  void appeared(double share) { appeared_ += share; }
  void vanished(double share) { vanished_ += share; }

  // A segment of both sides, whose mean weight is `weight`.
  void rate(const Account& before, const Account& after, double weight) {
    for (std::size_t i = 0; i < kBuckets; ++i) {
      const double grown = after.stage[i] / after.wall - before.stage[i] / before.wall;
      stages_[i] -= weight * grown;
    }
    for (const auto& [category, share] : failure_shares(before)) {
      failures_[category] += weight * share;
    }
    for (const auto& [category, share] : failure_shares(after)) {
      failures_[category] -= weight * share;
    }
  }

  [[nodiscard]] std::vector<DipTerm> take() const {
    std::vector<DipTerm> out;
    const auto add = [&](std::string name, std::string label, TermKind kind, double share) {
      if (share != 0) out.push_back({std::move(name), std::move(label), kind, 100 * share});
    };
    add("mix", "other jobs", TermKind::mix, mix_);
    add("appeared", "jobs of a new kind", TermKind::mix, appeared_);
    add("vanished", "jobs of a kind that is gone", TermKind::mix, vanished_);
    for (const auto& [category, share] : failures_) {
      const bool preemption = category == preemption_category;
      add(category.empty() ? "unknown" : category,
          preemption ? "preemptions"
                     : component_label({Kind::failures, Bucket::scheduling, category}),
          preemption ? TermKind::preemption : TermKind::failure, share);
    }
    for (std::size_t i = 0; i < kBuckets; ++i) {
      std::string word = bucket_word(static_cast<Bucket>(i));
      std::string label = word;
      std::ranges::replace(label, '_', ' ');
      add(std::move(word), std::move(label), TermKind::stage, stages_[i]);
    }
    std::ranges::stable_sort(out, [](const DipTerm& a, const DipTerm& b) {
      return std::abs(a.delta_pct) > std::abs(b.delta_pct);
    });
    return out;
  }

 private:
  double mix_ = 0, appeared_ = 0, vanished_ = 0;
  std::array<double, kBuckets> stages_{};
  std::map<std::string, double, std::less<>> failures_;
};

}  // namespace

std::string_view term_kind_name(TermKind kind) {
  switch (kind) {
    case TermKind::mix:
      return "mix";
    case TermKind::preemption:
      return "preemption";
    case TermKind::failure:
      return "failure";
    case TermKind::stage:
      break;
  }
  return "stage";
}

std::optional<Dip> decompose_dip(std::span<const fleet::AttemptFacts> facts, const Side& before,
                                 const Side& after, const DipOptions& options) {
  const Accounts a = account(facts, before, options), b = account(facts, after, options);
  const double wall_a = wall_of(a), wall_b = wall_of(b);
  if (wall_a <= 0 || wall_b <= 0) return std::nullopt;
  Dip out;
  const double ett_a = ett_of(a, wall_a), ett_b = ett_of(b, wall_b);
  const double middle = (ett_a + ett_b) / 2;
  Terms terms;
  for (const auto& [key, from] : a) {
    const double share_a = from.wall / wall_a, ett = from.effective / from.wall;
    const auto to = b.find(key);
    if (to == b.end()) {
      terms.vanished(-share_a * (ett - middle));
      continue;
    }
    const double share_b = to->second.wall / wall_b;
    const double ett_after = to->second.effective / to->second.wall;
    terms.rate(from, to->second, (share_a + share_b) / 2);
    terms.mix(((ett + ett_after) / 2 - middle) * (share_b - share_a));
  }
  for (const auto& [key, to] : b) {
    if (!a.contains(key)) terms.appeared(to.wall / wall_b * (to.effective / to.wall - middle));
  }
  out.before_pct = 100 * ett_a;
  out.after_pct = 100 * ett_b;
  out.delta_pct = out.after_pct - out.before_pct;
  out.terms = terms.take();
  return out;
}

}  // namespace headway::regress
