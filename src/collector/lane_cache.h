// Rows of ranks as they were read from the store, kept so that going into a drawing reads nothing
// twice; and the right to read: one at a time, so that drawings of huge jobs leave the other
// workers to everybody else. Bounded; the least lately used is forgotten. Any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "timeline/lane.h"

namespace headway::collector {

struct LaneKey {
  std::string tenant, job;
  std::int64_t attempt = 0;
  std::uint32_t rank = 0;
  auto operator<=>(const LaneKey&) const = default;
};

// What a row was made of: with the same, it is the same.
struct LaneBasis {
  std::uint64_t slots = 0;  // of the rank's journal
  std::int64_t high_water = 0;
  bool use_steps = false, failed = false;
  bool operator==(const LaneBasis&) const = default;
};

struct KeptLane {
  struct Save {
    std::int64_t t_ns = 0, step = 0;
    std::uint16_t state = 0;
  };
  LaneBasis basis;
  timeline::LaneWindow window;  // that was read
  timeline::Lane lane;
  std::vector<Save> saves;      // checkpoints in the window
  std::int64_t settled_ns = 0;  // what comes later in the journal changes nothing before it

  // Whether it tells a window as finely as is asked. `now`: what it would be made of today.
  [[nodiscard]] bool tells(const timeline::LaneWindow& asked, const LaneBasis& now) const;
  // The row for a window that it tells.
  [[nodiscard]] timeline::Lane cut(const timeline::LaneWindow& asked) const;
  [[nodiscard]] std::size_t bytes() const;
};

struct LaneCacheOptions {
  std::size_t bytes_max = 128u << 20;
  std::size_t lanes_of_a_rank_max = 4;
};

class LaneCache {
 public:
  explicit LaneCache(LaneCacheOptions options = {}) : options_(options) {}

  // None: it has to be read.
  [[nodiscard]] std::shared_ptr<const KeptLane> find(const LaneKey& key,
                                                     const timeline::LaneWindow& asked,
                                                     const LaneBasis& now);
  void keep(const LaneKey& key, std::shared_ptr<const KeptLane> lane);
  // Does not own the mutex: somebody else reads.
  [[nodiscard]] std::unique_lock<std::mutex> try_read() {
    return std::unique_lock(reading_, std::try_to_lock);
  }
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Entry {
    std::shared_ptr<const KeptLane> lane;
    std::uint64_t used = 0;
  };
  void forget_oldest();

  const LaneCacheOptions options_;
  std::mutex reading_;
  mutable std::mutex mutex_;
  std::map<LaneKey, std::vector<Entry>> entries_;
  std::size_t bytes_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace headway::collector
