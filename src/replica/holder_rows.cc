// The part of Holder that deals with saves of rows: into the image, and to the disk as a delta or,
// when that is due, as the whole image that they are in by then.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "replica/apply.h"
#include "replica/holder.h"
#include "replica/packet_socket.h"
#include "replica/persist.h"

namespace headway::replica {

using base::Result;
using base::Status;

namespace {

std::vector<std::shared_ptr<Slot>> listed(
    const std::map<std::uint32_t, std::shared_ptr<Slot>>& by_rank) {
  std::vector<std::shared_ptr<Slot>> slots;
  for (const auto& [rank, slot] : by_rank) slots.push_back(slot);
  return slots;
}

std::uint64_t own_bytes(const std::map<std::uint32_t, SlotFacts>& facts) {
  std::uint64_t bytes = 0;
  for (const auto& [rank, one] : facts) bytes += one.own.bytes();
  return bytes;
}

}  // namespace

// On the disk's thread. `done` says how far it got, whatever went wrong.
void Holder::work_off(const RowsChoice& choice, const Message& told, RowsDone& done) {
  checkpoint::CheckpointFolder folder(base::real_file_system(), told.folder);
  const auto goes_on = [this] { return !give_up_ && !hurry_; };
  const std::string base = choice.pinned ? chain_.base_for(told.folder, choice.facts) : "";
  if (!base.empty()) {
    auto name = persist(folder, told.job, listed(choice.rows.slots), base, goes_on);
    done.disk = name.status();
    if (name.ok()) {
      done.name = name->text();
      chain_.add(done.name, choice.facts, own_bytes(choice.facts));
    }
  }
  for (const auto& [rank, rows] : choice.rows.slots) {
    done.memory = apply(*choice.images.at(rank), *rows);
    if (!done.memory.ok()) break;
  }
  applying_ = false;
  post([] {});  // who waited for that can go on
  if (!choice.pinned || !base.empty()) return;
  done.disk = done.memory;
  if (!done.disk.ok()) return;
  for (const auto& [rank, image] : choice.images) {
    if (!image->try_pin()) done.disk = Status::io(image->path() + ": in use");
  }
  if (done.disk.ok()) {
    auto name = persist(folder, told.job, listed(choice.images), "", goes_on);
    done.disk = name.status();
    if (name.ok()) {
      done.name = name->text();
      std::map<std::uint32_t, SlotFacts> facts;
      for (const auto& [rank, image] : choice.images) {
        if (const auto sealed = image->facts()) facts[rank] = *sealed;
      }
      chain_.begin(told.folder, done.name, facts, own_bytes(facts));
    }
  }
  for (const auto& [rank, image] : choice.images) image->unpin();
}

void Holder::start_rows(const RowsChoice& choice) {
  writing_ = choice.rows;
  applying_ = true;
  disk_.add([this, choice, told = told_by(choice.rows)] {
    const std::int64_t begin_ns = base::clock_ns(CLOCK_MONOTONIC);
    RowsDone done;
    work_off(choice, told, done);
    done.took_ns = base::clock_ns(CLOCK_MONOTONIC) - begin_ns;
    if (!done.name.empty() && told.keep_last > 0) thin_out(told);
    post([this, choice, done] { rows_finished(choice, done); });
  });
}

void Holder::rows_finished(const RowsChoice& choice, const RowsDone& done) {
  writing_.reset();
  if (!done.memory.ok()) options_.note(done.memory.message());
  for (const auto& [number, slot] : choice.rows.slots) {
    // Where the rows did not get into the image it stays what it was, an older step.
    slot->clear();
    Rank& rank = *ranks_[number];
    if (!done.memory.ok() && rank.client.valid()) {
      (void)send_packet(rank.client.get(), {.say = Say::whole});
    }
    rank.slots.drop_unfit({rank.bytes, rank.rows_bytes}, false);
  }
  if (!choice.pinned) return;
  tell_end(choice.rows,
           done.disk.ok() ? Result<std::string>(done.name) : Result<std::string>(done.disk),
           done.took_ns);
}

void Holder::drop_lost_rows(const HeldByRank& held, std::uint64_t newest) {
  for (const auto& slot : lost_rows(held, newest)) {
    const auto facts = slot->facts();
    const bool awaited = slot->state() == SlotState::pinned && facts;
    slot->clear();
    if (!awaited || !ranks_.contains(facts->rank)) continue;
    Message message{.say = Say::failed};
    message.step = facts->step;
    message.text = "the image that its rows belong to is gone";
    const Rank& rank = *ranks_.at(facts->rank);
    if (rank.client.valid()) (void)send_packet(rank.client.get(), message);
  }
}

// Who comes after one that died finds all that it left in the images. An image that is on its way
// to the disk takes no rows: then the disk has to wait for the next save.
void Holder::tell_waiting() {
  const bool anyone = std::any_of(ranks_.begin(), ranks_.end(),
                                  [](const auto& entry) { return entry.second->untold; });
  hurry_ = anyone && (applying_ || next_rows(held(), ranks_here(), true));
  if (!anyone || hurry_) return;
  for (const auto& [number, rank] : ranks_) {
    if (std::exchange(rank->untold, false)) tell_slots(*rank);
  }
}

}  // namespace headway::replica
