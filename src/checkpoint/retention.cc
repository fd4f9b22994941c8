#include "checkpoint/retention.h"

#include <algorithm>
#include <map>

namespace headway::checkpoint {
namespace {

using State = Candidate::State;

std::int64_t stretch_of(std::int64_t time_ns, std::int64_t every_ns) {
  const std::int64_t quotient = time_ns / every_ns;
  return time_ns % every_ns < 0 ? quotient - 1 : quotient;
}

}  // namespace

std::string_view name_of(Fate fate) {
  switch (fate) {
    case Fate::newest:
      return "newest";
    case Fate::last:
      return "last";
    case Fate::whole:
      return "whole";
    case Fate::every:
      return "every";
    case Fate::anchor:
      return "anchor";
    case Fate::base:
      return "base";
    case Fate::left:
      return "left";
    case Fate::goes:
      return "goes";
    case Fate::goes_broken:
      return "broken";
  }
  return "";
}

std::vector<Fate> decide_fates(const RetentionPolicy& policy,
                               const std::vector<Candidate>& candidates) {
  std::vector<Fate> fates(candidates.size(), Fate::goes);
  // The first of each stretch, so that the answer is the same whenever somebody asks: it stays the
  // first whatever comes later.
  std::map<std::int64_t, std::size_t> firsts;
  std::size_t good = 0, whole = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& each = candidates[i];
    if (each.state != State::good) {
      const bool broken = (each.state == State::lost && policy.drop_lost) ||
                          (each.state == State::damaged && policy.drop_damaged);
      fates[i] = broken && !each.is_link && !each.anchor ? Fate::goes_broken : Fate::left;
      continue;
    }
    ++good;
    whole += each.is_delta ? 0 : 1;
    if (policy.every_ns > 0) {
      const auto [it, is_new] = firsts.try_emplace(stretch_of(each.time_ns, policy.every_ns), i);
      // Newest first: of equals the later in the list, which was committed first.
      if (!is_new && each.time_ns <= candidates[it->second].time_ns) it->second = i;
    }
    if (good == 1) {
      fates[i] = Fate::newest;
    } else if (each.anchor) {
      fates[i] = Fate::anchor;
    } else if (good <= policy.last) {
      fates[i] = Fate::last;
    } else if (!each.is_delta && whole <= policy.last) {
      fates[i] = Fate::whole;
    } else if (each.is_link) {
      fates[i] = Fate::left;
    }
  }
  for (const auto& [stretch, i] : firsts) {
    if (fates[i] == Fate::goes) fates[i] = Fate::every;
  }
  if (good == 0) std::fill(fates.begin(), fates.end(), Fate::left);
  // Bases come behind what is based on them.
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::size_t base = candidates[i].base;
    if (base >= fates.size() || is_removed(fates[i])) continue;
    if (is_removed(fates[base]) || fates[base] == Fate::whole) fates[base] = Fate::base;
  }
  return fates;
}

}  // namespace headway::checkpoint
