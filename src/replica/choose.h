// Which step of what the local ranks hold is to be written, and which one a job can go on from: a
// step counts only if every rank has it, all of the same attempt. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "replica/slot.h"

namespace headway::replica {

// One slot that is sealed or pinned, or to which rows are applied.
struct Held {
  std::shared_ptr<Slot> slot;  // not looked into here
  bool pinned = false;
  SlotFacts facts;
  bool applying = false;  // then the facts are those of before
};
using HeldByRank = std::map<std::uint32_t, std::vector<Held>>;
using SlotByRank = std::map<std::uint32_t, std::shared_ptr<Slot>>;

struct Choice {
  std::uint64_t attempt = 0;
  std::uint64_t step = 0;
  SlotByRank slots;
};

[[nodiscard]] inline bool is_before(const Choice& a, const Choice& b) {
  return std::pair(a.attempt, a.step) < std::pair(b.attempt, b.step);
}

// The oldest image that all of `ranks` ranks have, and that is pinned: by all, or by those that a
// holder had not come to when it died. What trainers of the attempt `running` are just taking over
// has to be pinned by all: who has not pinned it yet is still making the copy that is written, and
// would wait for the disk if it were his original. Rows are next_rows()' business.
[[nodiscard]] std::optional<Choice> next_to_persist(const HeldByRank& held, std::uint32_t ranks,
                                                    std::uint64_t running = 0);
// Those that they all have, pinned or not, the newest first.
[[nodiscard]] std::vector<Choice> whole_steps(const HeldByRank& held, std::uint32_t ranks);

// The oldest rows that all have, and whose images are there; pinned images have to wait. A holder
// that died may have put those of some ranks or of all into their images.
struct RowsChoice {
  Choice rows;
  SlotByRank images;
  std::map<std::uint32_t, SlotFacts> facts;  // of the rows, by rank
  bool pinned = false;                       // they are to get to the disk
  bool waiting = false;                      // some are not in their images yet
};
[[nodiscard]] std::optional<RowsChoice> next_rows(const HeldByRank& held, std::uint32_t ranks);
// Are there any that are not in their images yet, pinned or not?
[[nodiscard]] bool rows_wait(const HeldByRank& held, std::uint32_t ranks);
// Where next_rows() finds none: rows that nobody will ever have a use for. Their attempt is over
// (`newest` runs), or their rank has a newer image.
[[nodiscard]] std::vector<std::shared_ptr<Slot>> lost_rows(const HeldByRank& held,
                                                           std::uint64_t newest);

// Rows that can get into no image any more, of each rank: what came before them is neither in an
// image nor in a slot. Ranks seal one after the other, so a look that was taken while they did may
// miss one: only what two looks find is lost.
[[nodiscard]] std::map<std::uint32_t, std::vector<std::shared_ptr<Slot>>> cut_off_rows(
    const HeldByRank& held);

// Rows that are in the images that have been written.
[[nodiscard]] std::vector<std::shared_ptr<Slot>> rows_in(const HeldByRank& held,
                                                         const Choice& written);
// Pinned ones of a step that was saved again, when the later one has been written.
[[nodiscard]] std::vector<std::shared_ptr<Slot>> superseded(const HeldByRank& held,
                                                            const Choice& written);
// Pinned ones that will never be whole: another rank is beyond that step and does not have it, or
// the attempt is over (`newest` runs).
[[nodiscard]] std::vector<std::shared_ptr<Slot>> lost_causes(const HeldByRank& held,
                                                             std::uint32_t ranks,
                                                             std::uint64_t newest);

}  // namespace headway::replica
