// The part of Holder that saves what other machines have the rest of.
#include <algorithm>

#include "base/clock.h"
#include "replica/holder.h"

namespace headway::replica {

using base::Result;
using base::Status;

namespace {

std::vector<std::shared_ptr<Slot>> slots_of(const Choice& choice) {
  std::vector<std::shared_ptr<Slot>> slots;
  for (const auto& [number, slot] : choice.slots) slots.push_back(slot);
  return slots;
}

}  // namespace

Result<std::string> text_of(const Result<checkpoint::CheckpointName>& name) {
  return name.ok() ? Result<std::string>(name.value().text()) : Result<std::string>(name.status());
}

bool is_shared(const Choice& choice) {
  const auto facts = choice.slots.begin()->second->facts();
  return facts && facts->world_size != choice.slots.size();
}

Patience Holder::patience_for(std::uint64_t attempt) const {
  // Who waits for us to end goes on from the replica, which it finds as it is.
  return {.limits = options_.together,
          .goes_on = [this] { return !give_up_ && !(nobody_trains_ && is_wanted()); },
          .silence_ns =
              [this, attempt] {
                if (newest_attempt_ > attempt) return options_.together.next_ns;
                return nobody_trains_ ? options_.together.end_ns : options_.together.quiet_ns;
              }};
}

// On the disk's thread.
Result<checkpoint::CheckpointName> Holder::save_shared(const Choice& choice, const SaveOrder& order,
                                                       bool end) {
  return save_together(base::real_file_system(), order, slots_of(choice), end,
                       patience_for(choice.attempt), options_.note);
}

// The newest step that all machines have. `known`: what became of the newest one here.
void Holder::end_together(const std::vector<Choice>& steps, bool known) {
  const Choice& newest = steps.front();
  const auto key = std::pair(newest.attempt, newest.step);
  const Message told = told_by(newest);
  if (known) {
    // Nothing to wait for. But others may be ahead of us, and look for what we have, unless all
    // has ended well.
    const bool well = std::all_of(ranks_.begin(), ranks_.end(),
                                  [](const auto& entry) { return entry.second->done; });
    if (well || ended_ >= key) return;
  } else if (Status locked = keep_lock(told); !locked.ok()) {
    return finished(newest, locked, 0);
  }
  ended_ = key;
  writing_ = newest;
  disk_.add([this, steps, known, order = order_of(told)] {
    const std::int64_t begin_ns = base::clock_ns(CLOCK_MONOTONIC);
    Choice choice = steps.front();
    auto name = save_end(steps, !known, order, choice);
    const std::int64_t took_ns = base::clock_ns(CLOCK_MONOTONIC) - begin_ns;
    post([this, choice, newest = steps.front(), known, name, took_ns] {
      writing_.reset();
      if (known) return;
      tried_ = std::pair(newest.attempt, newest.step);  // nothing newer comes of it
      finished(choice, name, took_ns);
    });
  });
}

// On the disk's thread. `choice`: the one that all have.
Result<std::string> Holder::save_end(const std::vector<Choice>& steps, bool wait,
                                     const SaveOrder& order, Choice& choice) {
  Steps slots;
  for (const Choice& each : steps) slots.push_back(slots_of(each));
  const auto agreed =
      agree_on_end(base::real_file_system(), order, slots, wait, patience_for(choice.attempt));
  if (!agreed.ok()) return with_advice(agreed.status(), order.folder);
  choice = steps[agreed.value()];
  for (const auto& [number, slot] : choice.slots) {
    if (slot->state() == SlotState::pinned || slot->try_pin()) continue;
    return with_advice(Status::io(slot->path() + ": in use"), order.folder);
  }
  return text_of(save_shared(choice, order, true));
}

}  // namespace headway::replica
