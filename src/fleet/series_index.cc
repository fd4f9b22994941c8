#include "fleet/series_index.h"

#include <algorithm>

#include "base/check.h"

namespace headway::fleet {
namespace {

constexpr std::uint64_t dense_max = 1 << 20;  // keys that may have a table of their own

struct Found {
  std::uint64_t key = 0;
  Int128 device_ns = 0;
  bool seen = false;
};

}  // namespace

SeriesIndex::SeriesIndex(const Snapshot& snapshot, const Filter& filter, std::vector<Dimension> by,
                         std::uint32_t series_max)
    : by_(std::move(by)) {
  HW_CHECK(by_.size() <= dimensions_max && series_max > 0);
  std::uint64_t keys_max = 1;
  for (const Dimension dimension : by_) keys_max *= std::max(1u, snapshot.values(dimension).size());
  if (by_.size() == 2) second_ = std::max(1u, snapshot.values(by_[1]).size());
  if (keys_max <= series_max) {
    for (std::uint64_t key = 0; key < keys_max; ++key) {
      keys_.push_back(key);
      dense_.push_back(static_cast<std::uint32_t>(key));
    }
    return;
  }
  const bool dense = keys_max <= dense_max;
  std::vector<Found> found(dense ? keys_max : 0);
  std::unordered_map<std::uint64_t, std::size_t> places;
  each_job(snapshot, filter, [&](const Chunk& chunk, const Chunk::Job& job) {
    for (std::uint32_t at = job.first; at < job.first + job.count; ++at) {
      if (!filter.has_attempt(chunk, at) || !has_slice(chunk, at, filter)) continue;
      const std::uint64_t key = key_of(chunk, at);
      std::size_t place = key;
      if (!dense) {
        place = places.try_emplace(key, found.size()).first->second;
        if (place == found.size()) found.emplace_back();
      }
      Found& each = found[place];
      each.key = key;
      each.seen = true;
      each.device_ns += device_ns_of(chunk, at, filter);
    }
  });
  std::erase_if(found, [](const Found& each) { return !each.seen; });
  // By names where device-hours are the same, so that the order of arrival does not show.
  std::ranges::sort(found, [&](const Found& a, const Found& b) {
    if (a.device_ns != b.device_ns) return a.device_ns > b.device_ns;
    return texts_of(snapshot, a.key) < texts_of(snapshot, b.key);
  });
  for (const Found& each : found) {
    if (keys_.size() < series_max) keys_.push_back(each.key);
  }
  more_ = found.size() - keys_.size();
  if (dense) dense_.assign(keys_max, size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (dense)
      dense_[keys_[i]] = i;
    else
      sparse_.emplace(keys_[i], i);
  }
}

std::vector<std::string> SeriesIndex::values(const Snapshot& snapshot, std::uint32_t series) const {
  HW_CHECK(series < size());
  return texts_of(snapshot, keys_[series]);
}

std::vector<std::string> SeriesIndex::texts_of(const Snapshot& snapshot, std::uint64_t key) const {
  std::vector<std::string> out;
  if (by_.size() == 2) {
    out.emplace_back(snapshot.values(by_[0])[static_cast<std::uint32_t>(key / second_)]);
    out.emplace_back(snapshot.values(by_[1])[static_cast<std::uint32_t>(key % second_)]);
  } else if (by_.size() == 1) {
    out.emplace_back(snapshot.values(by_[0])[static_cast<std::uint32_t>(key)]);
  }
  return out;
}

}  // namespace headway::fleet
