// Fills slots with a rank's state: memory anywhere in this process → the image, with the checksum
// of every chunk made in the same pass over memory. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replica/copy_team.h"
#include "replica/image.h"
#include "replica/slot.h"

namespace headway::replica {

// Where a piece of the image comes from.
struct Source {
  // Null: somebody has put it into the image already (a copy from a device), and only its checksum
  // is due.
  const std::byte* at = nullptr;
  // Not empty: only these rows of what lies there, in this order.
  std::span<const std::int64_t> rows{};
  std::uint64_t row_bytes = 0;
};

class Stage {
 public:
  explicit Stage(ImagePlan plan);
  [[nodiscard]] const ImagePlan& plan() const { return plan_; }

  // `sources`: of each piece, in the order that they were planned in. The slot is in `writing` and
  // has room.
  void fill(Slot& slot, std::span<const Source> sources, CopyTeam& team) const;

 private:
  // Everything that lies in the image, in its order: heads, pieces.
  struct Segment {
    Range range;
    std::size_t piece = 0;  // index; `head` says otherwise
    const std::string* head = nullptr;
  };
  void fill_chunk(const Range& chunk, std::size_t segment, std::byte* image,
                  std::span<const Source> sources, std::uint32_t& checksum) const;

  const ImagePlan plan_;
  std::vector<Segment> segments_;
  std::vector<Range> chunks_;
  std::vector<std::size_t> first_;  // segment of each chunk
};

}  // namespace headway::replica
