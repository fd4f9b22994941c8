#include "replica/persist.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "checkpoint/delta.h"

namespace headway::replica {
namespace {

using base::Result;
using base::Status;

// At once: large enough for the disk to be busy all the time, small enough to stop soon.
constexpr std::uint64_t kWriteBytes = 64 << 20;
static_assert(kWriteBytes % chunk_bytes == 0 && chunk_bytes == checkpoint::default_chunk_bytes);

}  // namespace

std::string shard_name(std::uint32_t rank) {
  return fmt::format("rank-{:05}.safetensors", rank);
}

std::string delta_name(std::uint32_t rank) {
  return fmt::format("rank-{:05}{}", rank, checkpoint::delta_suffix);
}

Status write_image(checkpoint::DraftFile& file, const Slot& slot, const SlotFacts& facts,
                   const std::function<bool()>& goes_on) {
  for (std::uint64_t at = 0; at < facts.own.end; at += kWriteBytes) {
    if (!goes_on()) return Status::io(std::string(save_given_up));
    const std::uint64_t bytes = std::min(kWriteBytes, facts.own.end - at);
    const auto checksums =
        slot.checksums().subspan(at / chunk_bytes, (bytes + chunk_bytes - 1) / chunk_bytes);
    Status status = file.write(slot.image().subspan(at, bytes), checksums);
    if (!status.ok()) return status;
  }
  return file.finish();
}

Result<StepFacts> facts_of(const std::vector<std::shared_ptr<Slot>>& slots, const std::string& job,
                           const std::string& base) {
  HW_CHECK(!slots.empty());
  StepFacts step;
  checkpoint::Manifest& manifest = step.manifest;
  std::vector<SlotFacts>& all = step.of_slots;
  for (const auto& slot : slots) {
    const auto facts = slot->facts();
    if (!facts) return Status::corrupt(slot->path() + ": not what was sealed any more");
    all.push_back(*facts);
    HW_CHECK((facts->since != 0) == !base.empty());
    if (facts->step != all[0].step || facts->world_size != all[0].world_size) {
      return Status::corrupt(slot->path() + ": of another step or another number of ranks");
    }
    manifest.time_ns = std::max(manifest.time_ns, facts->time_ns);
  }
  manifest.step = all[0].step;
  manifest.data = static_cast<std::uint64_t>(std::max<std::int64_t>(0, all[0].data));
  manifest.world_size = all[0].world_size;
  manifest.job = job;
  manifest.base = base;
  manifest.attempt = all[0].attempt;
  return step;
}

Result<checkpoint::CheckpointName> persist(checkpoint::CheckpointFolder& folder,
                                           const std::string& job,
                                           const std::vector<std::shared_ptr<Slot>>& slots,
                                           const std::string& base,
                                           const std::function<bool()>& goes_on) {
  auto step = facts_of(slots, job, base);
  if (!step.ok()) return step.status();
  auto draft = checkpoint::Draft::begin(folder, std::move(step->manifest));
  if (!draft.ok()) return draft.status();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const SlotFacts& facts = step->of_slots[i];
    const std::string name = facts.since == 0 ? shard_name(facts.rank) : delta_name(facts.rank);
    auto file = (*draft)->add(name, facts.rank, {facts.own.bytes(), true});
    if (!file.ok()) return file.status();
    Status status = write_image(**file, *slots[i], facts, goes_on);
    if (!status.ok()) return status;
  }
  return (*draft)->commit();
}

}  // namespace headway::replica
