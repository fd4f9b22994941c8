// What was learnt of a family of jobs (docs/formats/dynamic.md): the sources that are to be
// dynamic, all that were seen beside them, and how attempts fared with it and without. A small file
// in JSON; reading and writing its text is here, the file is its owner's. Pure; any thread.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compile/dynamic_sources.h"
#include "compile/dynamic_trial.h"

namespace headway::compile {

inline constexpr std::size_t kMemoryBytesMax = 8 << 20;
inline constexpr std::size_t kMemorySourcesMax = 2'000;
inline constexpr std::size_t kMemoryKnownMax = 20'000;
inline constexpr std::size_t kMemoryRecordsMax = 32;

struct DynamicMemory {
  std::string family;
  std::set<SourceDim> sources;
  std::set<SourceDim> useless;  // were dynamic, and it saved nothing: not to be learnt again
  std::set<KnownSource> known;
  bool known_whole = true;  // else nothing may be joined: what must stay as it is was not all kept
  std::vector<TrialRecord> records;  // the newest last
  std::string taken_back;            // why; "": it is in use

  // Takes what a finished attempt taught. How many sources are new.
  std::size_t learn(const DynamicFindings& findings);
  void add_record(TrialRecord record);
  // For the environment; "": there is nothing.
  [[nodiscard]] std::string setting() const;
};

[[nodiscard]] std::string write_memory(const DynamicMemory& memory);
// An error says what is wrong, in words for a note.
[[nodiscard]] base::Result<DynamicMemory> read_memory(std::string_view text);

}  // namespace headway::compile
