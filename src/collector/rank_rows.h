// Rows of ranks for a drawing: out of the cache where it has them, else read from the store, for as
// long as one answer may take. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/lane_cache.h"
#include "collector/stored_job.h"
#include "store/store.h"
#include "timeline/lane.h"

namespace headway::collector {

struct ReadLimits {
  std::int64_t answer_ns = 1'500'000'000;      // no rank is begun after that
  std::uint64_t rank_records = 20'000'000;     // of one rank; what lies behind them is not drawn
  std::uint64_t answer_records = 200'000'000;  // no rank is begun after that
};

// The attempt that a rank's row is wanted of.
struct RowBasis {
  std::int64_t attempt = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  // of it, and a little more
  std::int64_t high_water = INT64_MIN;    // before it
  bool failed = false, use_steps = false;
};

struct RankRow {
  std::uint32_t rank = 0;
  std::string host;
  timeline::Lane lane;
  std::vector<KeptLane::Save> saves;  // in the window
};

class RankRows {
 public:
  RankRows(store::Store& store, LaneCache& cache, store::JobRow job, const ReadLimits& limits);

  // Before the first row.
  base::Status open();
  // None: the rank is not in the attempt, or there was no time for it: complete() says which.
  std::optional<RankRow> row(const RowBasis& basis, std::uint32_t rank,
                             const timeline::LaneWindow& window);
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  struct Journal {
    std::string host;
    std::uint64_t slots = 0;
  };
  [[nodiscard]] bool may_read();
  const event::Stream* stream_of(std::int64_t attempt, std::uint32_t rank);
  std::shared_ptr<const KeptLane> read(const RowBasis& basis, const event::Stream& stream,
                                       const timeline::LaneWindow& window,
                                       const LaneBasis& made_of);

  store::Store& store_;
  LaneCache& cache_;
  const store::JobRow job_;
  const ReadLimits limits_;
  const std::int64_t begun_ns_;
  std::map<std::pair<std::int64_t, std::uint32_t>, Journal> journals_;  // by attempt and rank
  std::map<std::int64_t, event::JobStreams> streams_;                   // by attempt, when needed
  std::unique_lock<std::mutex> reading_;
  std::uint64_t records_ = 0;
  bool asked_to_read_ = false;
  bool complete_ = true;
};

}  // namespace headway::collector
