#include "cache/keep_newest.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/check.h"
#include "cache/format.h"

namespace headway::cache {
namespace {

// Of a content, of what its blocks take in the file.
std::uint64_t packed_bytes(const Archive& archive, std::uint32_t content) {
  const Segment& segment = archive.segments()[archive.segment_of(content)];
  if (segment.raw_bytes == 0) return 0;
  const double tightness =
      static_cast<double>(segment.stored_bytes) / static_cast<double>(segment.raw_bytes);
  return static_cast<std::uint64_t>(static_cast<double>(archive.index().contents[content].bytes) *
                                    tightness);
}

}  // namespace

std::size_t keep_newest(Union& all, std::span<const Archive* const> archives,
                        std::uint64_t bytes_max) {
  const auto entry_of = [&](const Chosen& chosen) -> const Entry& {
    return archives[chosen.archive]->index().entries[chosen.entry];
  };
  std::vector<std::size_t> order(all.entries.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return entry_of(all.entries[i]).time_ns; });
  std::uint64_t bytes = sizeof(HeadRecord) + sizeof(SealRecord) + sizeof(IndexHeadRecord) +
                        (archives.empty() ? 0 : to_text(archives[0]->binding()).size());
  std::set<base::Sha256> contents;  // one that several entries name is there once
  std::vector<bool> kept(all.entries.size());
  for (const std::size_t i : order) {
    const Archive& archive = *archives[all.entries[i].archive];
    const Entry& entry = entry_of(all.entries[i]);
    std::uint64_t more = sizeof(EntryRecord) + entry.path.size() + entry.key.size();
    const base::Sha256& sha256 = archive.index().contents[entry.content].sha256;
    if (!contents.contains(sha256)) {
      more += sizeof(ContentRecord) + packed_bytes(archive, entry.content);
    }
    if (!contents.empty() && bytes + more > bytes_max) continue;
    bytes += more;
    contents.insert(sha256);
    kept[i] = true;
  }
  std::vector<Chosen> rest;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) rest.push_back(all.entries[i]);
  }
  const std::size_t left_out = all.entries.size() - rest.size();
  HW_CHECK(all.entries.empty() || !rest.empty());
  all.entries = std::move(rest);
  return left_out;
}

}  // namespace headway::cache
