// Which step of what the local ranks hold is to be written, and which one a job can go on from: a
// step counts only if every rank has it, all of the same attempt. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "replica/slot.h"

namespace headway::replica {

// One slot that is sealed or pinned.
struct Held {
  std::shared_ptr<Slot> slot;  // not looked into here
  bool pinned = false;
  SlotFacts facts;
};
using HeldByRank = std::map<std::uint32_t, std::vector<Held>>;

struct Choice {
  std::uint64_t attempt = 0;
  std::uint64_t step = 0;
  std::map<std::uint32_t, std::shared_ptr<Slot>> slots;  // by rank
};

// The oldest that all of `ranks` ranks have, and that is pinned: by all, or by those that a holder
// had not come to when it died.
[[nodiscard]] std::optional<Choice> next_to_persist(const HeldByRank& held, std::uint32_t ranks);
// The newest that they all have, pinned or not.
[[nodiscard]] std::optional<Choice> newest_whole(const HeldByRank& held, std::uint32_t ranks);

// Pinned ones that will never be whole: another rank is beyond that step and does not have it, or
// the attempt is over (`newest` runs).
[[nodiscard]] std::vector<std::shared_ptr<Slot>> lost_causes(const HeldByRank& held,
                                                             std::uint32_t ranks,
                                                             std::uint64_t newest);

}  // namespace headway::replica
