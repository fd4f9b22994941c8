// Which group an attempt belongs to, as a small number: the values of up to two dimensions. Where
// there can be more groups than an answer holds, those with most device-hours are found first, and
// the rest is one; else all there can be are numbered, and some of them may turn out to be empty.
// Pure; any thread may read it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "fleet/scan.h"

namespace headway::fleet {

class SeriesIndex {
 public:
  static constexpr std::size_t dimensions_max = 2;

  // `by` empty: one series of all.
  SeriesIndex(const Snapshot& snapshot, const Filter& filter, std::vector<Dimension> by,
              std::uint32_t series_max);

  // Below size(), or size() for the rest.
  [[nodiscard]] std::uint32_t of(const Chunk& chunk, std::uint32_t at) const {
    if (by_.empty()) return 0;
    const std::uint64_t key = key_of(chunk, at);
    if (!dense_.empty()) return dense_[key];
    const auto found = sparse_.find(key);
    return found == sparse_.end() ? size() : found->second;
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(keys_.size()); }
  [[nodiscard]] std::uint64_t more() const { return more_; }  // that were left to the rest
  // One for each dimension of `by`.
  [[nodiscard]] std::vector<std::string> values(const Snapshot& snapshot,
                                                std::uint32_t series) const;
  [[nodiscard]] const std::vector<Dimension>& by() const { return by_; }

 private:
  [[nodiscard]] std::uint64_t key_of(const Chunk& chunk, std::uint32_t at) const {
    std::uint64_t key = 0;
    for (const Dimension dimension : by_) {
      key = key << 16 | chunk.dimensions[static_cast<std::size_t>(dimension)][at];
    }
    return by_.size() == 2 ? (key >> 16) * second_ + (key & 0xffff) : key;
  }
  [[nodiscard]] std::vector<std::string> texts_of(const Snapshot& snapshot,
                                                  std::uint64_t key) const;
  std::vector<Dimension> by_;
  std::uint64_t second_ = 1;          // values of the second dimension
  std::vector<std::uint32_t> dense_;  // by key; empty: there are too many keys
  std::unordered_map<std::uint64_t, std::uint32_t> sparse_;
  std::vector<std::uint64_t> keys_;  // of the series
  std::uint64_t more_ = 0;
};

[[nodiscard]] inline bool has_slice(const Chunk& chunk, std::uint32_t at, const Filter& filter) {
  for (std::uint32_t i = chunk.first_slice[at]; i < chunk.first_slice[at + 1]; ++i) {
    if (filter.has_day(chunk.day[i])) return true;
  }
  return false;
}

// Device time of one attempt on the days of a filter.
[[nodiscard]] inline Int128 device_ns_of(const Chunk& chunk, std::uint32_t at,
                                         const Filter& filter) {
  Int128 sum = 0;
  for (std::uint32_t i = chunk.first_slice[at]; i < chunk.first_slice[at + 1]; ++i) {
    if (filter.has_day(chunk.day[i])) sum += chunk.wall_ns[i];
  }
  return sum * chunk.devices[at];
}

}  // namespace headway::fleet
