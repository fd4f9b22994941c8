// What lies where in a sealed slot's image, by the headers of its two parts.
#pragma once

#include <vector>

#include "base/status.h"
#include "checkpoint/safetensors.h"
#include "replica/slot.h"

namespace headway::replica {

// Places count from the image's beginning. Nothing in the image is trusted.
base::Result<std::vector<checkpoint::StoredPiece>> pieces_of(const Slot& slot,
                                                             const SlotFacts& facts);

}  // namespace headway::replica
