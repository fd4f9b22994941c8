#include "replica/stage.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"

namespace headway::replica {

Stage::Stage(ImagePlan plan) : plan_(std::move(plan)) {
  for (const ImagePart* part : {&plan_.own, &plan_.rest}) {
    if (part->range.bytes() == 0) continue;
    const std::string& head = part->plan.head;
    segments_.push_back({{part->range.begin, part->range.begin + head.size()}, 0, &head});
  }
  for (std::size_t i = 0; i < plan_.places.size(); ++i) {
    if (plan_.places[i].bytes() > 0) segments_.push_back({plan_.places[i], i, nullptr});
  }
  std::sort(segments_.begin(), segments_.end(),
            [](const Segment& a, const Segment& b) { return a.range.begin < b.range.begin; });
  chunks_ = chunks_of(plan_.own.range, plan_.rest.range);
  std::size_t segment = 0;
  for (const Range& chunk : chunks_) {
    while (segments_[segment].range.end <= chunk.begin) ++segment;
    first_.push_back(segment);
  }
}

void Stage::fill(Slot& slot, std::span<const std::byte* const> sources, CopyTeam& team) const {
  HW_CHECK(slot.state() == SlotState::writing && slot.capacity() >= plan_.bytes);
  HW_CHECK(sources.size() == plan_.places.size());
  const auto checksums = slot.checksums();
  std::byte* const image = slot.image().data();
  team.run(chunks_.size(),
           [&](std::size_t i) { fill_chunk(chunks_[i], first_[i], image, sources, checksums[i]); });
}

void Stage::fill_chunk(const Range& chunk, std::size_t segment, std::byte* image,
                       std::span<const std::byte* const> sources, std::uint32_t& checksum) const {
  std::uint32_t crc = 0;
  std::uint64_t at = chunk.begin;
  for (; at < chunk.end; ++segment) {
    const Segment& from = segments_[segment];
    const std::uint64_t bytes = std::min(chunk.end, from.range.end) - at;
    const std::uint64_t inside = at - from.range.begin;
    const auto* base = from.head != nullptr ? reinterpret_cast<const std::byte*>(from.head->data())
                                            : sources[from.piece];
    crc = base == nullptr ? base::crc32c(image + at, bytes, crc)
                          : base::copy_crc32c(image + at, base + inside, bytes, crc);
    at += bytes;
  }
  checksum = crc;
}

}  // namespace headway::replica
