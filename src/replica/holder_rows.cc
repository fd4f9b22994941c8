// The part of Holder that deals with saves of rows: into the image, and to the disk as a delta or,
// when that is due, as the whole image that they are in by then.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "replica/apply.h"
#include "replica/holder.h"
#include "replica/packet_socket.h"

namespace headway::replica {

using base::Result;
using base::Status;

// On the disk's thread. `done` says how far it got, whatever went wrong.
void Holder::work_off(const RowsChoice& choice, SaveOrder order, RowsDone& done) {
  const auto goes_on = [this] { return !give_up_ && !hurry_; };
  const auto take = [&done](const Result<checkpoint::CheckpointName>& name) {
    done.disk = name.status();
    if (name.ok()) done.name = name.value().text();
  };
  if (choice.pinned) order.base = chain_.base_for(order.folder, choice.facts, order.deltas_max);
  done.is_delta = !order.base.empty();
  if (!order.base.empty()) {
    std::vector<std::shared_ptr<Slot>> slots;
    for (const auto& [rank, slot] : choice.rows.slots) slots.push_back(slot);
    take(save_step(base::real_file_system(), order, slots, goes_on, options_.note));
    if (done.disk.ok()) chain_.add(done.name, choice.facts);
  }
  for (const auto& [rank, rows] : choice.rows.slots) {
    done.memory = apply(*choice.images.at(rank), *rows);
    if (!done.memory.ok()) break;
  }
  applying_ = false;
  post([] {});  // who waited for that can go on
  if (!choice.pinned || !order.base.empty()) return;
  done.disk = done.memory;
  for (const auto& [rank, image] : choice.images) {
    if (done.disk.ok() && !image->try_pin()) done.disk = Status::io(image->path() + ": in use");
  }
  if (done.disk.ok()) take(save_whole(choice.images, order, goes_on));
  for (const auto& [rank, image] : choice.images) image->unpin();
}

void Holder::start_rows(const RowsChoice& choice) {
  writing_ = choice.rows;
  applying_ = true;
  const Message told = told_by(choice.rows);
  const Status locked = choice.pinned ? keep_lock(told) : Status();
  disk_.add([this, choice, locked, order = order_of(told)] {
    const std::int64_t begin_ns = base::clock_ns(CLOCK_MONOTONIC);
    RowsChoice allowed = choice;
    allowed.pinned = choice.pinned && locked.ok();
    RowsDone done;
    done.disk = locked;
    work_off(allowed, order, done);
    done.took_ns = base::clock_ns(CLOCK_MONOTONIC) - begin_ns;
    post([this, choice, done] { rows_finished(choice, done); });
  });
}

void Holder::rows_finished(const RowsChoice& choice, const RowsDone& done) {
  writing_.reset();
  if (!done.memory.ok()) options_.note(done.memory.message());
  if (choice.pinned) {
    const Result<std::string> name =
        done.disk.ok() ? Result<std::string>(done.name) : Result<std::string>(done.disk);
    tell_end(choice.rows, name, done.took_ns);
    if (name.ok() && done.is_delta) last_delta_ = std::pair(choice.rows.attempt, choice.rows.step);
  }
  for (const auto& [number, slot] : choice.rows.slots) {
    // Where the rows did not get into the image it stays what it was, an older step.
    if (slot->is_intact()) slot->clear();
    Rank& rank = *ranks_[number];
    if (!done.memory.ok() && rank.client.valid()) {
      (void)send_packet(rank.client.get(), {.say = Say::whole});
    }
    // What is on disk is newer than images of a layout that has been outgrown.
    const bool durable = choice.pinned && done.disk.ok();
    const std::uint64_t image_bytes = choice.images.at(number)->capacity();
    rank.slots.drop_unfit({std::min(rank.bytes, image_bytes), rank.rows_bytes}, durable);
  }
}

void Holder::drop_rows(const std::shared_ptr<Slot>& slot, const std::string& why) {
  const auto facts = slot->facts();
  const bool awaited = slot->state() == SlotState::pinned && facts;
  slot->clear();
  // A holder may have died when they were in the image: then that one got to the disk.
  const bool is_known = awaited && tried_ >= std::pair(facts->attempt, facts->step);
  if (!awaited || is_known || !ranks_.contains(facts->rank)) return;
  Message message{.say = Say::failed};
  message.step = facts->step;
  message.text = why;
  const Rank& rank = *ranks_.at(facts->rank);
  if (rank.client.valid()) (void)send_packet(rank.client.get(), message);
}

void Holder::drop_lost_rows(const HeldByRank& held, std::uint64_t newest) {
  for (const auto& slot : lost_rows(held, newest)) {
    drop_rows(slot, "the image that its rows belong to is gone");
  }
}

// Nobody would ever free them, and who saves would wait for that: a whole step begins anew.
void Holder::drop_cut_off_rows(const HeldByRank& held) {
  if (cut_off_rows(held).empty()) return;
  for (const auto& [number, slots] : cut_off_rows(this->held())) {
    const std::string why = "rows that came before it are gone";
    options_.note(fmt::format("rank {}: {}: it is asked for a whole step", number, why));
    for (const auto& slot : slots) drop_rows(slot, why);
    const Rank& rank = *ranks_.at(number);
    if (rank.client.valid()) (void)send_packet(rank.client.get(), {.say = Say::whole});
  }
}

// Who comes after one that died finds all that it left in the images. An image that is on its way
// to the disk takes no rows: then the disk has to wait for the next save.
void Holder::tell_waiting() {
  const bool anyone = std::any_of(ranks_.begin(), ranks_.end(),
                                  [](const auto& entry) { return entry.second->untold; });
  hurry_ = anyone && (applying_ || rows_wait(held(), ranks_here()));
  if (!anyone || hurry_) return;
  for (const auto& [number, rank] : ranks_) {
    if (std::exchange(rank->untold, false)) tell_slots(*rank);
  }
}

}  // namespace headway::replica
