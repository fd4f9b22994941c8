// The part of Holder that brings steps to the disk: which, when, and who is told.
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "replica/holder.h"
#include "replica/packet_socket.h"

namespace headway::replica {

using base::Result;
using base::Status;

HeldByRank Holder::held() const {
  HeldByRank held;
  for (const auto& [number, rank] : ranks_) {
    for (const auto& slot : rank->slots.all()) {
      if (const auto facts = slot->facts()) {
        held[number].push_back({slot, slot->state() == SlotState::pinned, *facts});
      } else if (const auto before = slot->facts_before()) {
        held[number].push_back({slot, false, *before, true});
      }
    }
  }
  return held;
}

std::uint32_t Holder::ranks_here() const {
  std::uint32_t count = 0;
  for (const auto& [number, rank] : ranks_) {
    const Message& hello = rank->hello;
    if (!hello.folder.empty() && hello.attempt == newest_attempt_) count = hello.local_world_size;
  }
  return count;
}

void Holder::consider() {
  if (writing_ || ranks_here() == 0) return;
  leave_folder();
  const HeldByRank now = held();
  seen_ = now;
  const auto whole = next_to_persist(now, ranks_here(), has_clients() ? newest_attempt_.load() : 0);
  const auto rows = next_rows(now, ranks_here());
  // In the order of their steps: the disk must not end with an older one.
  if (rows && (!whole || is_before(rows->rows, *whole))) return start_rows(*rows);
  if (whole) return start(*whole);
  for (const auto& slot : lost_causes(now, ranks_here(), newest_attempt_)) slot->unpin();
  drop_lost_rows(now, newest_attempt_);
  drop_cut_off_rows(now);
}

void Holder::write_newest() {
  if (writing_ || ranks_here() == 0) return;
  const auto steps = whole_steps(held(), ranks_here());
  if (steps.empty()) return;
  const Choice& newest = steps.front();
  const auto key = std::pair(newest.attempt, newest.step);
  const bool tried = tried_ >= key;
  if (is_shared(newest)) return end_together(steps, tried);
  // Once more as a whole one, and tried once only.
  const bool whole = !aimed_.place.empty() && std::exchange(last_delta_, std::nullopt) == key;
  if (!tried || whole) start(newest);
}

void Holder::start(const Choice& choice) {
  for (const auto& [number, slot] : choice.slots) {
    if (slot->state() != SlotState::pinned && !slot->try_pin()) return;
  }
  writing_ = choice;
  (void)::futimens(lock_.get(), nullptr);  // in use: memory that is written to does not show it
  const Message told = told_by(choice);
  if (Status locked = keep_lock(told); !locked.ok()) {
    return finished(choice, locked, 0);
  }
  disk_.add([this, choice, order = order_of(told)] {
    const std::int64_t begin_ns = base::clock_ns(CLOCK_MONOTONIC);
    auto written = is_shared(choice)
                       ? save_shared(choice, order, false)
                       : save_whole(choice.slots, order, [this] { return !give_up_; });
    const std::int64_t took_ns = base::clock_ns(CLOCK_MONOTONIC) - begin_ns;
    post([this, choice, name = text_of(written), took_ns] { finished(choice, name, took_ns); });
  });
}

Message Holder::told_by(const Choice& choice) const {
  for (const auto& [number, slot] : choice.slots) {
    const Message& hello = ranks_.at(number)->hello;
    if (!hello.folder.empty()) return hello;
  }
  // None of those ranks is here any more: the job has other ones by now.
  for (const auto& [number, rank] : ranks_) {
    if (!rank->hello.folder.empty()) return rank->hello;
  }
  return {};
}

SaveOrder Holder::order_of(const Message& told) const {
  SaveOrder order{told.folder, told.job, {told.keep_last, told.keep_every_ns, false}};
  order.deltas_max = told.upload.empty() ? chain_max : chain_max_uploaded;
  order.newest_attempt = newest_attempt_;
  order.damaged.assign(damaged_.begin(), damaged_.end());
  if (Uploader* const uploader = uploader_.get()) {
    order.while_reading = [uploader](const auto& work) { uploader->while_reading(work); };
  }
  return order;
}

// On the disk's thread: images of all ranks, and a chain of deltas may begin there.
Result<checkpoint::CheckpointName> Holder::save_whole(const SlotByRank& images,
                                                      const SaveOrder& order,
                                                      const std::function<bool()>& goes_on) {
  std::vector<std::shared_ptr<Slot>> slots;
  std::map<std::uint32_t, SlotFacts> facts;
  for (const auto& [number, slot] : images) {
    slots.push_back(slot);
    if (const auto sealed = slot->facts()) facts[number] = *sealed;
  }
  auto written = save_step(base::real_file_system(), order, slots, goes_on, options_.note);
  if (written.ok()) chain_.begin(order.folder, written->text(), facts);
  return written;
}

void Holder::finished(const Choice& choice, const Result<std::string>& name, std::int64_t took_ns) {
  writing_.reset();
  // First the word, then the deed: whoever is killed between the two leaves a slot that is pinned,
  // and the next one writes and says it again.
  tell_end(choice, name, took_ns);
  // One that broke while it was written would stay pinned, and be written again for ever.
  for (const auto& [number, slot] : choice.slots) {
    std::erase_if(seen_[number], [&](const Held& held) { return held.slot == slot; });
  }
  drop_broken();
  const HeldByRank now = held();
  for (const auto& slot : superseded(now, choice)) slot->unpin();
  for (const auto& slot : rows_in(now, choice)) slot->clear();
  for (const auto& [number, slot] : choice.slots) {
    Rank& rank = *ranks_[number];
    if (slot->is_intact()) slot->unpin();
    rank.slots.drop_unfit({std::min(rank.bytes, slot->capacity()), rank.rows_bytes}, true);
  }
}

void Holder::tell_end(const Choice& choice, const Result<std::string>& name, std::int64_t took_ns) {
  last_ = name.status();
  if (last_.ok()) last_delta_.reset();
  const auto key = std::pair(choice.attempt, choice.step);
  // A failed one is not tried again before the end: the next save comes first.
  tried_ = std::max(tried_.value_or(key), key);
  if (!last_.ok()) options_.note(last_.message());
  if (last_.ok() && uploader_) uploader_->look();
  if (last_.ok()) {
    std::erase_if(damaged_, [&](const auto& path) { return path.ends_with("/" + name.value()); });
  }
  Message message{.say = last_.ok() ? Say::durable : Say::failed};
  message.step = choice.step;
  message.nanoseconds = took_ns;
  message.text = last_.ok() ? name.value() : last_.message();
  last_news_ = {choice.attempt, message};
  for (const auto& [number, slot] : choice.slots) {
    const Rank& rank = *ranks_[number];
    if (rank.client.valid()) (void)send_packet(rank.client.get(), message);
  }
}

}  // namespace headway::replica
