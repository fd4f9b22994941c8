#include "replica/stage.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"

namespace headway::replica {
namespace {

constexpr std::uint64_t kGatherBytes = 32 << 10;  // copied, then summed while they are in the cache
constexpr std::size_t kAhead = 16;                // rows that are called for before their turn

void call_for(const Source& from, std::uint64_t row) {
  if (row >= from.rows.size()) return;
  const std::byte* at = from.at + static_cast<std::uint64_t>(from.rows[row]) * from.row_bytes;
  const std::uint64_t bytes = std::min<std::uint64_t>(from.row_bytes, 512);
  for (std::uint64_t line = 0; line < bytes; line += 64) __builtin_prefetch(at + line);
}

// Bytes from `inside` on of the rows put behind each other.
std::uint32_t gather_crc32c(std::byte* to, const Source& from, std::uint64_t inside,
                            std::uint64_t bytes, std::uint32_t crc) {
  const std::uint64_t end = inside + bytes;
  while (inside < end) {
    std::byte* const block = to;
    const std::uint64_t block_end = std::min(end, inside + kGatherBytes);
    while (inside < block_end) {
      const std::uint64_t row = inside / from.row_bytes;
      const std::uint64_t skip = inside % from.row_bytes;
      const std::uint64_t piece = std::min(from.row_bytes - skip, block_end - inside);
      call_for(from, row + kAhead);
      const auto at = static_cast<std::uint64_t>(from.rows[row]) * from.row_bytes + skip;
      std::memcpy(to, from.at + at, piece);
      to += piece;
      inside += piece;
    }
    crc = base::crc32c(block, static_cast<std::size_t>(to - block), crc);
  }
  return crc;
}

}  // namespace

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

void Stage::fill(Slot& slot, std::span<const Source> sources, CopyTeam& team) const {
  HW_CHECK(slot.state() == SlotState::writing && slot.capacity() >= plan_.bytes);
  HW_CHECK(sources.size() == plan_.places.size());
  const auto checksums = slot.checksums();
  std::byte* const image = slot.image().data();
  team.run(chunks_.size(),
           [&](std::size_t i) { fill_chunk(chunks_[i], first_[i], image, sources, checksums[i]); });
}

void Stage::fill_chunk(const Range& chunk, std::size_t segment, std::byte* image,
                       std::span<const Source> sources, std::uint32_t& checksum) const {
  std::uint32_t crc = 0;
  std::uint64_t at = chunk.begin;
  for (; at < chunk.end; ++segment) {
    const Segment& from = segments_[segment];
    const std::uint64_t bytes = std::min(chunk.end, from.range.end) - at;
    const std::uint64_t inside = at - from.range.begin;
    const Source source = from.head != nullptr
                              ? Source{.at = reinterpret_cast<const std::byte*>(from.head->data())}
                              : sources[from.piece];
    if (source.at == nullptr) {
      crc = base::crc32c(image + at, bytes, crc);
    } else if (source.rows.empty()) {
      crc = base::copy_crc32c(image + at, source.at + inside, bytes, crc);
    } else {
      crc = gather_crc32c(image + at, source, inside, bytes, crc);
    }
    at += bytes;
  }
  checksum = crc;
}

}  // namespace headway::replica
