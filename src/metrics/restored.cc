#include "metrics/restored.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace headway::metrics {
namespace {

constexpr std::string_view kNearestFirst[] = {"replica", "replica-copy", "peer", "disk", "store"};
constexpr std::ptrdiff_t kInMemory = 3;

std::ptrdiff_t distance_of(std::string_view tier) {
  return std::ranges::find(kNearestFirst, tier) - std::begin(kNearestFirst);
}

}  // namespace

std::string restored_tier(const timeline::AttemptResult& attempt, const event::NameTable& names) {
  const std::vector<timeline::Position>& restores = attempt.facts.restores;
  if (restores.empty()) return {};
  const auto text_of = [&](const timeline::Position& p) {
    return p.tier != 0 ? std::string(names.text(p.tier)) : std::string();
  };
  std::string farthest = text_of(restores.front());
  for (const timeline::Position& p : restores) {
    const std::string tier = text_of(p);
    const bool known = distance_of(tier) < std::ssize(kNearestFirst);
    if (known && p.step == restores.front().step && distance_of(tier) > distance_of(farthest)) {
      farthest = tier;
    }
  }
  return farthest;
}

bool is_memory(std::string_view tier) {
  return distance_of(tier) < kInMemory;
}

}  // namespace headway::metrics
