// Which ranks of an attempt missed graphs in compile caches: ranks that missed and found as many
// are one row, so that a cold start of thousands is a line. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace headway::metrics {

struct MissedRow {
  std::int64_t attempt = 0;
  std::uint64_t misses = 0, hits = 0;  // of each of the ranks
  std::uint64_t count = 0;             // of ranks
  std::string ranks;                   // "0-7,12"; ",…" at its end: there are more
};

class MissedRanks {
 public:
  static constexpr std::size_t ranges_max = 32;  // that are named in a row

  // One that missed nothing is none of them.
  void add(std::uint32_t rank, std::uint64_t misses, std::uint64_t hits);
  // The most misses first.
  [[nodiscard]] std::vector<MissedRow> rows(std::int64_t attempt) const;

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint32_t>> ranks_;
};

}  // namespace headway::metrics
