#include "replica/choose.h"

#include <algorithm>

namespace headway::replica {
namespace {

using Key = std::pair<std::uint64_t, std::uint64_t>;  // attempt, step

// Steps that all ranks have, in their order.
std::map<Key, Choice> whole_ones(const HeldByRank& held, std::uint32_t ranks) {
  std::map<Key, Choice> choices;
  for (const auto& [rank, slots] : held) {
    for (const Held& one : slots) {
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
  auto choices = whole_ones(held, ranks);
  for (auto& [key, choice] : choices) {
    for (const auto& [rank, slots] : held) {
      for (const Held& one : slots) {
        if (one.pinned && Key{one.facts.attempt, one.facts.step} == key) return std::move(choice);
      }
    }
  }
  return std::nullopt;
}

std::optional<Choice> newest_whole(const HeldByRank& held, std::uint32_t ranks) {
  auto choices = whole_ones(held, ranks);
  if (choices.empty()) return std::nullopt;
  return std::move(choices.rbegin()->second);
}

std::vector<std::shared_ptr<Slot>> lost_causes(const HeldByRank& held, std::uint32_t ranks,
                                               std::uint64_t newest) {
  const auto whole = whole_ones(held, ranks);
  const auto passed = [&held](const Key& key) {
    return std::any_of(held.begin(), held.end(), [&key](const auto& entry) {
      bool has = false;
      bool beyond = false;
      for (const Held& one : entry.second) {
        const Key other{one.facts.attempt, one.facts.step};
        has = has || other == key;
        beyond = beyond || (other.first == key.first && other.second > key.second);
      }
      return beyond && !has;
    });
  };
  std::vector<std::shared_ptr<Slot>> lost;
  for (const auto& [rank, slots] : held) {
    for (const Held& one : slots) {
      const Key key{one.facts.attempt, one.facts.step};
      if (!one.pinned || whole.contains(key)) continue;
      if (key.first < newest || passed(key)) lost.push_back(one.slot);
    }
  }
  return lost;
}

}  // namespace headway::replica
