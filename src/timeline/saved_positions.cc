#include "timeline/saved_positions.h"

#include <algorithm>

namespace headway::timeline {

void SavedPositions::note(const Facts& facts) {
  const std::int64_t newest = count_ == 0 ? INT64_MIN : ring_[(count_ - 1) % steps_max].step;
  for (const auto* save : {&facts.last_durable, &facts.last_staged}) {
    if (!*save) continue;
    if ((*save)->step <= newest) {
      settle((*save)->step);
    } else if (awaited_.size() < saves_max) {
      awaited_.push_back((*save)->step);
    }
  }
}

void SavedPositions::settle_awaited(std::int64_t step) {
  std::erase_if(awaited_, [&](std::int64_t save_step) {
    if (save_step > step) return false;
    settle(save_step);
    return true;
  });
}

// The newest step at or before the save's, if it is still remembered.
void SavedPositions::settle(std::int64_t save_step) {
  const std::uint64_t oldest = count_ > steps_max ? count_ - steps_max : 0;
  for (std::uint64_t i = count_; i > oldest; --i) {
    const Step& s = ring_[(i - 1) % steps_max];
    if (s.step > save_step) continue;
    train_ns_[s.data] = s.train_ns;
    if (train_ns_.size() > saves_max) train_ns_.erase(train_ns_.begin());
    data_[save_step] = s.data;
    if (data_.size() > saves_max) data_.erase(data_.begin());
    return;
  }
}

}  // namespace headway::timeline
