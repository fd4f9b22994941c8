// What tells that a checkpoint was there which is none any more: its files without their manifest,
// a file in its place, a LATEST that names what is gone. Nothing of Headway's leaves such behind
// (folder.h), so somebody has lost something: who began anew without a word would hide it.
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/folder.h"

namespace headway::checkpoint {

struct Trace {
  CheckpointName name;
  std::string text;  // what is wrong, and what to do about it
};
// The newest first. None where there is no such folder.
base::Result<std::vector<Trace>> find_traces(base::FileSystem& files, const std::string& folder);

}  // namespace headway::checkpoint
