#include "record/room.h"

#include <algorithm>

namespace headway::record {

void Room::open(JournalFile* file) {
  *this = Room{};
  file_ = file;
}

Room::Found Room::look(bool may_grow) {
  event::JournalHeader* header = file_->header();
  const std::uint64_t cursor = header->cursor.load(std::memory_order_relaxed);
  const std::uint64_t limit = header->limit.load(std::memory_order_relaxed);
  // With the dropped ones: what was recorded is never more than there was room for, and says
  // nothing about how much was wanted.
  const std::uint64_t asked = cursor + header->dropped.load(std::memory_order_relaxed);
  const std::uint64_t burst = asked - std::min(asked, seen_);
  seen_ = asked;
  lead_ = std::clamp(2 * std::min(burst, lead_slots_max), lead_, lead_slots_max);

  const Found done = burst > 0 || making_ ? Found::busy : Found::quiet;
  const std::uint64_t room = limit - std::min(limit, cursor);
  making_ =
      may_grow && limit < file_->slots_max() && (room < lead_ || (making_ && room < 2 * lead_));
  if (!making_) return done;

  const std::uint64_t piece = std::clamp(2 * lead_ - room, piece_slots_min, piece_slots_max);
  if (file_->grow_to(limit + piece) == 0) {
    making_ = room + piece < 2 * lead_;
    return making_ ? Found::behind : done;
  }
  // A disk that is nearly full: less and less, and no haste to take the rest of it.
  making_ = false;
  for (std::uint64_t less = piece / 2; less >= piece_slots_min; less /= 2) {
    if (file_->grow_to(limit + less) == 0) return done;
  }
  return Found::stuck;
}

}  // namespace headway::record
