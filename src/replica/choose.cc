#include "replica/choose.h"

namespace headway::replica {
namespace {

using Key = std::pair<std::uint64_t, std::uint64_t>;  // attempt, step

// Steps that all ranks have, in their order.
std::map<Key, Choice> whole_ones(const HeldByRank& held, std::uint32_t ranks, bool pinned_only) {
  std::map<Key, Choice> choices;
  for (const auto& [rank, slots] : held) {
    for (const Held& one : slots) {
      if (pinned_only && !one.pinned) continue;
      const Key key{one.facts.attempt, one.facts.step};
      Choice& choice = choices[key];
      choice.attempt = key.first;
      choice.step = key.second;
      choice.slots.emplace(rank, one.slot);
    }
  }
  std::erase_if(choices, [&](const auto& entry) { return entry.second.slots.size() != ranks; });
  return choices;
}

}  // namespace

std::optional<Choice> next_to_persist(const HeldByRank& held, std::uint32_t ranks) {
  auto choices = whole_ones(held, ranks, true);
  if (choices.empty()) return std::nullopt;
  return std::move(choices.begin()->second);
}

std::optional<Choice> newest_whole(const HeldByRank& held, std::uint32_t ranks) {
  auto choices = whole_ones(held, ranks, false);
  if (choices.empty()) return std::nullopt;
  return std::move(choices.rbegin()->second);
}

}  // namespace headway::replica
