#include "cluster/drain_core.h"

#include <algorithm>

#include "base/check.h"
#include "cluster/limits.h"

namespace headway::cluster {

void DrainCore::reset() {
  *this = DrainCore(margin_steps_);
}

bool DrainCore::begin(std::uint32_t nodes) {
  HW_CHECK(nodes > 0 && nodes <= nodes_max);
  if (active()) return false;
  state_ = State::asking;
  answers_.assign(nodes, Answer::missing);
  missing_ = nodes;
  return true;
}

DrainCore::Word DrainCore::on_boundary(std::uint32_t node_rank, std::uint64_t step) {
  if (state_ != State::asking || answers_.at(node_rank) != Answer::missing) return {};
  answers_[node_rank] = Answer::given;
  --missing_;
  highest_step_ = std::max(highest_step_, step);
  return settle();
}

DrainCore::Word DrainCore::on_accept(std::uint32_t node_rank, std::uint64_t step) {
  if (state_ != State::proposing || step != proposed_step_) return {};
  if (answers_.at(node_rank) != Answer::missing) return {};
  answers_[node_rank] = Answer::given;
  --missing_;
  return settle();
}

DrainCore::Word DrainCore::on_raise(std::uint32_t node_rank, std::uint64_t step) {
  // Below the proposal it answers an earlier one.
  if (state_ != State::proposing || step < proposed_step_) return {};
  if (answers_.at(node_rank) != Answer::missing) return {};
  answers_[node_rank] = Answer::given;
  --missing_;
  raised_ = true;
  highest_step_ = std::max(highest_step_, step);
  return settle();
}

DrainCore::Word DrainCore::on_finished(std::uint32_t node_rank) {
  if (!active()) return {};
  Answer& answer = answers_.at(node_rank);
  if (answer == Answer::missing) --missing_;
  answer = Answer::excused;
  return settle();
}

DrainCore::Word DrainCore::current() const {
  if (state_ == State::proposing) return ProposeStep{proposed_step_};
  if (state_ == State::agreed) return FinalStep{proposed_step_};
  return {};
}

// A failed proposal waits for all answers as well: each of them may raise it further.
DrainCore::Word DrainCore::settle() {
  if (missing_ > 0) return {};
  if (state_ == State::asking || (state_ == State::proposing && raised_)) return propose();
  if (state_ != State::proposing) return {};
  state_ = State::agreed;
  return FinalStep{proposed_step_};
}

DrainCore::Word DrainCore::propose() {
  const std::uint64_t margin = std::max<std::uint64_t>(margin_steps_, 1)
                               << std::min(proposals_, 20U);
  if (proposals_ == proposals_max || highest_step_ + margin > step_max) {
    state_ = State::abandoned;
    return {};
  }
  ++proposals_;
  raised_ = false;
  proposed_step_ = highest_step_ + margin;
  state_ = State::proposing;
  missing_ = 0;
  for (Answer& answer : answers_) {
    if (answer == Answer::excused) continue;
    answer = Answer::missing;
    ++missing_;
  }
  if (missing_ == 0) return settle();  // everybody has finished meanwhile
  return ProposeStep{proposed_step_};
}

}  // namespace headway::cluster
