#include "replica/save_together.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "checkpoint/together.h"
#include "replica/heartbeat.h"
#include "replica/persist.h"

namespace headway::replica {
namespace {

using base::Code;
using base::Result;
using base::Status;
using checkpoint::CheckpointName;
using checkpoint::PartsName;
using checkpoint::Together;
using Note = std::function<void(const std::string&)>;
using Slots = std::vector<std::shared_ptr<Slot>>;

constexpr std::int64_t kPollNs = 5'000'000;
constexpr std::int64_t kPollMaxNs = 100'000'000;

std::int64_t now_ns() {
  return base::clock_ns(CLOCK_MONOTONIC);
}

// Between two looks, longer every time.
class Pause {
 public:
  void take() {
    std::this_thread::sleep_for(std::chrono::nanoseconds(next_ns_));
    next_ns_ = std::min(kPollMaxNs, next_ns_ * 3 / 2);
  }

 private:
  std::int64_t next_ns_ = kPollNs;
};

PartsName name_of(const SlotFacts& facts, bool end) {
  return {facts.attempt, facts.step, end, facts.run};
}

// With the files that these slots will be.
Result<StepFacts> part_of(const Slots& slots, const std::string& job) {
  auto step = facts_of(slots, job, "");
  if (!step.ok()) return step;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const SlotFacts& facts = step->of_slots[i];
    const auto sums = slots[i]->checksums().first((facts.own.end + chunk_bytes - 1) / chunk_bytes);
    step->manifest.files.push_back({.name = shard_name(facts.rank),
                                    .bytes = facts.own.end,
                                    .chunk_bytes = chunk_bytes,
                                    .crc32c = {sums.begin(), sums.end()},
                                    .rank = facts.rank});
  }
  return step;
}

// One save, from this machine's side.
class SharedSave {
 public:
  SharedSave(base::FileSystem& files, const SaveOrder& order, const Slots& slots,
             const StepFacts& step, bool end, const Patience& patience, const Note& note)
      : files_(files),
        order_(order),
        slots_(slots),
        step_(step),
        patience_(patience),
        note_(note),
        folder_(files, order.folder),
        together_(folder_, name_of(step.of_slots[0], end), step.manifest) {}

  Result<CheckpointName> run();

 private:
  Result<std::optional<CheckpointName>> prepare();
  Status write();
  Result<CheckpointName> wait();

  base::FileSystem& files_;
  const SaveOrder& order_;
  const Slots& slots_;
  const StepFacts& step_;
  const Patience& patience_;
  const Note& note_;
  checkpoint::CheckpointFolder folder_;
  Together together_;
  bool published_ = false;
  std::optional<Heartbeat> heart_;  // the last member: its thread uses the others
};

Status SharedSave::write() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const SlotFacts& facts = step_.of_slots[i];
    auto file = together_.add(shard_name(facts.rank));
    if (!file.ok()) return file.status();
    Status status = write_image(**file, *slots_[i], facts, patience_.goes_on);
    if (!status.ok()) return status;
  }
  return together_.publish();
}

// Until this machine's part is there, or the checkpoint.
Result<std::optional<CheckpointName>> SharedSave::prepare() {
  auto committed = together_.find_committed();
  if (!committed.ok() || *committed) return committed;
  // From the first call on that a slow disk can stand in; before the folder is there, unseen.
  heart_.emplace(patience_.limits.beat_ns, [this] { together_.beat(); });
  committed = together_.begin(order_.newest_attempt);
  if (!committed.ok() || *committed) return committed;
  published_ = together_.is_published();
  if (published_) return committed;
  Status status = write();
  const bool full = status.code() == Code::no_space;
  if (full && together_.leads() && thin_out(files_, order_, note_)) status = write();
  if (!status.ok()) return status;
  published_ = true;
  return committed;
}

Result<CheckpointName> SharedSave::wait() {
  Pause pause;
  std::string signs;
  std::int64_t heard_ns = now_ns();
  std::int64_t limit_ns = patience_.silence_ns();
  while (patience_.goes_on()) {
    auto found = together_.look();
    if (!found.ok()) return found.status();
    if (*found) return **found;
    const std::int64_t now = now_ns();
    const std::int64_t before_ns = std::exchange(limit_ns, patience_.silence_ns());
    if (signs != together_.signs() || limit_ns != before_ns) heard_ns = now;
    signs = together_.signs();
    if (now - heard_ns >= limit_ns) {
      return Status::io(fmt::format("step {}: nothing has come from the machine of {} for {} s",
                                    step_.manifest.step, together_.missing(),
                                    limit_ns / 1'000'000'000));
    }
    pause.take();
  }
  return Status::io(std::string(save_given_up));
}

Result<CheckpointName> SharedSave::run() {
  auto there = prepare();
  if (!there.ok()) {
    // Our part can be seen before the call that publishes it returns. Whoever commits then moves
    // the folder away under that call, and what it tells is no failure.
    auto committed = together_.find_committed();
    if (committed.ok() && *committed) there = std::move(committed);
  }
  Result<CheckpointName> saved = !there.ok()     ? Result<CheckpointName>(there.status())
                                 : there.value() ? Result<CheckpointName>(*there.value())
                                                 : wait();
  heart_.reset();  // nothing may come after a mark that it was given up
  if (!saved.ok()) {
    // A part that is there may still be committed; one that is not never will be.
    const bool ours = together_.leads() || !published_;
    if (ours && patience_.goes_on()) together_.fail(saved.status().code() == Code::no_space);
    const bool full = saved.status().code() == Code::no_space && together_.leads();
    if (full) (void)thin_out(files_, order_, note_);  // another machine's disk is this one
    return with_advice(saved.status(), order_.folder);
  }
  if (together_.leads()) (void)thin_out(files_, order_, note_, *saved);
  return saved;
}

}  // namespace

Result<CheckpointName> save_together(base::FileSystem& files, const SaveOrder& order,
                                     const Slots& slots, bool end, const Patience& patience,
                                     const Note& note) {
  auto step = part_of(slots, order.job);
  if (!step.ok()) return with_advice(step.status(), order.folder);
  return SharedSave(files, order, slots, *step, end, patience, note).run();
}

Result<std::size_t> agree_on_end(base::FileSystem& files, const SaveOrder& order,
                                 const Steps& steps, bool wait, const Patience& patience) {
  checkpoint::CheckpointFolder folder(files, order.folder);
  std::vector<StepFacts> parts;
  std::vector<PartsName> names;
  for (const Slots& slots : steps) {
    auto part = part_of(slots, order.job);
    if (!part.ok()) return part.status();
    names.push_back(name_of(part->of_slots[0], true));
    parts.push_back(std::move(*part));
    Status told = Together::tell_have(folder, names.back(), parts.back().manifest);
    if (!told.ok()) return told;
  }
  const std::int64_t until_ns = now_ns() + patience.limits.end_ns;
  for (Pause pause; wait && patience.goes_on(); pause.take()) {
    std::optional<std::size_t> agreed;
    // The oldest first: when all have told one they have told all newer ones before it.
    for (std::size_t i = names.size(); i-- > 0;) {
      const std::uint32_t ranks = parts[i].manifest.world_size;
      const auto all = Together::all_have(folder, names[i], ranks);
      if (!all.ok()) return all.status();
      if (all.value()) agreed = i;
    }
    for (std::size_t i = 0; agreed && i < names.size(); ++i) {
      if (i != *agreed) Together::untell_have(folder, names[i], parts[i].manifest);
    }
    if (agreed) return *agreed;
    if (now_ns() > until_ns) break;
  }
  for (std::size_t i = 0; wait && i < names.size(); ++i) {
    Together::untell_have(folder, names[i], parts[i].manifest);
  }
  return Status::io(
      fmt::format("{}: the other machines have not told which step they have", order.folder));
}

}  // namespace headway::replica
