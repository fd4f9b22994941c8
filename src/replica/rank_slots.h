// The slots of one rank, as files in the holder's folder: "rank-00003.slot-7". Single-threaded but
// for allocate_missing(), which fills a list of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "replica/slot.h"

namespace headway::replica {

class RankSlots {
 public:
  RankSlots(std::string folder, std::uint32_t rank) : folder_(std::move(folder)), rank_(rank) {}

  // Those that a holder before us left; files that are no slots are removed.
  void take_over();

  [[nodiscard]] const std::vector<std::shared_ptr<Slot>>& all() const { return slots_; }
  // How many of this size there are for staging: live ones are not.
  [[nodiscard]] std::uint32_t usable(std::uint64_t bytes) const;
  // Small ones without anything in them go; with `all`, those with something in them too.
  void drop_smaller(std::uint64_t bytes, bool all);
  // Those whose memory is no longer theirs go, but for the ones that are in use.
  std::vector<std::shared_ptr<Slot>> drop_broken(
      const std::function<bool(const std::shared_ptr<Slot>&)>& in_use);
  void add(std::vector<std::shared_ptr<Slot>> slots);
  void remove_all();
  // Paths for `count` new ones.
  [[nodiscard]] std::vector<std::string> new_paths(std::uint32_t count);

 private:
  const std::string folder_;
  const std::uint32_t rank_;
  std::uint64_t next_ = 0;
  std::vector<std::shared_ptr<Slot>> slots_;
};

// Makes slots and gets their memory. After an error none is left.
base::Result<std::vector<std::shared_ptr<Slot>>> allocate_slots(
    const std::vector<std::string>& paths, std::uint64_t bytes,
    const std::function<bool()>& goes_on);

// The ranks whose slots lie in a folder.
[[nodiscard]] std::vector<std::uint32_t> ranks_in(const std::string& folder);

}  // namespace headway::replica
