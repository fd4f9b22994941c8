// The streams of one attempt, opened and grouped: the launcher's, and one merged source per rank.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "event/stream.h"

namespace headway::timeline {

// Several streams that describe the same rank, as one in time order. Ties keep the streams' order,
// which is by their origin, so the result does not depend on the order in which they were found.
class MergedSource final : public event::EventSource {
 public:
  explicit MergedSource(std::vector<std::unique_ptr<event::EventSource>> parts);
  std::span<const event::Event> next() override;
  [[nodiscard]] const event::StreamInfo& info() const override { return parts_.front()->info(); }
  [[nodiscard]] event::StreamLoss loss() const override { return {}; }  // each part tells its own
  [[nodiscard]] const std::vector<std::unique_ptr<event::EventSource>>& parts() const {
    return parts_;
  }

 private:
  std::vector<std::unique_ptr<event::EventSource>> parts_;
  std::vector<std::span<const event::Event>> heads_;
  std::vector<event::Event> batch_;
};

struct RankSource {
  std::uint32_t rank = 0;
  std::string host;
  std::unique_ptr<MergedSource> source;
};

struct AttemptSources {
  std::vector<std::unique_ptr<event::EventSource>> agents;
  std::vector<RankSource> ranks;  // by rank
  std::uint32_t world_size = 0;   // the largest stated
  std::uint32_t unopened = 0;     // files that went away
};

[[nodiscard]] AttemptSources open_sources(std::vector<const event::Stream*> streams);

}  // namespace headway::timeline
