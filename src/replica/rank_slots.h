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
  // What is asked for: images, and what holds rows of one.
  struct Sizes {
    std::uint64_t image = 0;
    std::uint64_t rows = 0;  // 0: none are
  };
  // How many there are for staging images, and rows: live ones are not.
  struct Usable {
    std::uint32_t images = 0;
    std::uint32_t rows = 0;
  };
  [[nodiscard]] Usable usable(const Sizes& sizes) const;
  // Those that are too small for either go, if there is nothing in them; with `all`, if there is an
  // image in them too.
  void drop_unfit(const Sizes& sizes, bool all);
  // What it was writing is garbage.
  void writer_died();
  // Those whose memory is no longer theirs go, but for the ones that are in use.
  std::vector<std::shared_ptr<Slot>> drop_broken(
      const std::function<bool(const std::shared_ptr<Slot>&)>& in_use);
  void add(std::vector<std::shared_ptr<Slot>> slots);
  // Paths for `count` new ones.
  [[nodiscard]] std::vector<std::string> new_paths(std::uint32_t count);

 private:
  const std::string folder_;
  const std::uint32_t rank_;
  std::uint64_t next_ = 0;
  std::vector<std::shared_ptr<Slot>> slots_;
};

// Makes slots and gets their memory. After an error none is left.
struct NewSlot {
  std::string path;
  std::uint64_t bytes = 0;
};
base::Result<std::vector<std::shared_ptr<Slot>>> allocate_slots(
    const std::vector<NewSlot>& wanted, const std::function<bool()>& goes_on);

// The ranks whose slots lie in a folder.
[[nodiscard]] std::vector<std::uint32_t> ranks_in(const std::string& folder);

}  // namespace headway::replica
