// Thinning out a shelf: what is too old goes, small archives of one binding become one, and if it
// is still too large it is made to fit. Then those go first whose binding their family has left
// behind: it has archives of another one that are two weeks newer. After them, of the bindings that
// have most, the oldest entries. No family loses all that it has: its next job would start cold.
// Only a bound of 0 empties the shelf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cache/keys.h"
#include "cache/share.h"
#include "cache/shelf.h"

namespace headway::cache {

struct CollectOptions {
  std::optional<std::uint64_t> bytes_max{};
  std::optional<std::int64_t> age_max_ns{};
  std::int64_t now_ns = 0;
  std::size_t merge_min = 2;  // so many of one binding become one; 0: none do
  std::size_t merge_max = 256;
  // Of an archive that is merged: collectors take no larger one, and nobody would pull one that is
  // over a pull's own limit.
  std::uint64_t archive_bytes_max = 2ULL << 30;
  bool dry_run = false;
  Trust trust{};
  const SigningKey* key = nullptr;  // none: nothing is merged, unless `trust` says unsigned, too
  std::size_t threads = 2;
};

struct Collected {
  std::size_t archives_before = 0, archives_after = 0;
  std::uint64_t bytes_before = 0, bytes_after = 0;
  std::vector<std::string> removed;  // names; of a dry run: would be
  std::size_t merged = 0;            // of the removed: are in another one now
  std::vector<std::string> notes;    // what could not be merged or made to fit, and why
};

// Archives of a group that is merged are read, and those that are damaged removed. `scratch`: an
// empty folder. A dry run tells the same and leaves the shelf as it is.
base::Result<Collected> collect(Shelf& shelf, const CollectOptions& options,
                                const std::string& scratch);

}  // namespace headway::cache
