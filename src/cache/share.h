// Archives from and to a shelf. What is on a shelf was put there by others: each archive is checked
// before it counts, and a bad one costs a note, not the job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cache/archive.h"
#include "cache/shelf.h"

namespace headway::cache {

struct Pushed {
  std::string place;
  bool was_there = false;
};
// Verified first: what is damaged here must not get there.
base::Result<Pushed> push(const Archive& archive, Shelf& shelf, std::size_t threads);

struct PullLimits {
  std::size_t archives_max = 64;
  std::uint64_t bytes_max = 4ULL << 30;
};
struct Pulled {
  std::vector<std::unique_ptr<Archive>> archives;  // newest first; every block was compared
  std::uint64_t bytes = 0;
  std::size_t beyond = 0;          // more there were than the limits allow
  std::vector<std::string> notes;  // one of each that was no good
  // Of all that were taken: they are of one binding.
  std::string family;
  bool same_binding = false;      // else of a processor with fewer instruction sets, or elsewhere
  bool same_environment = false;  // else libraries are of use only as rekey.h tells
  std::size_t unfit = 0;          // archives that were looked at and are bound to something else
  std::string unfit_why;          // the nearest one's reason
};
// What fits best, as far as the limits allow, the largest before all others: of one binding, the
// one that is nearest to `binding`. Torch, Python, architecture and GPU must be the same, and the
// processor here must have all that it asks for. In this order:
//   1. of the own family before all others;
//   2. of the same environment's path before another one's;
//   3. of the very same processor, then of the one that has most in common with this one.
// Only a shelf that cannot be listed is an error. `scratch`: an empty folder; it outlives the
// archives.
base::Result<Pulled> pull(Shelf& shelf, const Binding& binding, const Trust& trust,
                          const PullLimits& limits, const std::string& scratch,
                          std::size_t threads);

// One archive of a shelf: opened, trusted, whole, and what its name says.
base::Result<std::unique_ptr<Archive>> take(Shelf& shelf, const Shelved& one, const Trust& trust,
                                            const std::string& scratch, std::size_t threads);

}  // namespace headway::cache
