// Slots of one step → a committed checkpoint: what the holder does in the background. Nothing is
// copied, summed or encoded on the way: the image is the file, its checksums are those of the
// moment of the copy.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/folder.h"
#include "replica/slot.h"

namespace headway::replica {

// What a save says that was told to end; nobody has to do anything about it.
inline constexpr std::string_view save_given_up =
    "the holder or ranks were started again meanwhile, and it was given up for that";

// "rank-00003.safetensors", "rank-00003.delta".
[[nodiscard]] std::string shard_name(std::uint32_t rank);
[[nodiscard]] std::string delta_name(std::uint32_t rank);

// What slots of one step say of it: all but the manifest's files.
struct StepFacts {
  checkpoint::Manifest manifest;
  std::vector<SlotFacts> of_slots;  // in their order
};
base::Result<StepFacts> facts_of(const std::vector<std::shared_ptr<Slot>>& slots,
                                 const std::string& job, const std::string& base);
// All of a slot's own part, synced. `goes_on` as for persist().
base::Status write_image(checkpoint::DraftFile& file, const Slot& slot, const SlotFacts& facts,
                         const std::function<bool()>& goes_on);

// One slot for each rank of the job, all of one step and world size; nobody changes them meanwhile.
// `base`: not empty where they hold only what changed since the checkpoint of that name.
// `goes_on` is asked between pieces of writing; false gives it up without a trace.
base::Result<checkpoint::CheckpointName> persist(checkpoint::CheckpointFolder& folder,
                                                 const std::string& job,
                                                 const std::vector<std::shared_ptr<Slot>>& slots,
                                                 const std::string& base,
                                                 const std::function<bool()>& goes_on);

}  // namespace headway::replica
