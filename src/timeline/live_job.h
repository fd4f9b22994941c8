// A job that is being told while it runs: batches of events as they arrive, and the job as it
// stands at any time, without looking at an event twice. The agent and the collector hold one for a
// job.
//
// Each journal's events come in its own order; journals may be as far apart as they like. What
// cannot be taken in as it comes (an event for an attempt that a later one has closed, a rank that
// turns up after its peers have begun to train, two journals of one rank) is not guessed at:
// must_reread() becomes true, and the owner has the journals read from their beginning by reread(),
// from where it goes on with what comes then.
//
// Pure; one owner, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "event/event.h"
#include "timeline/attempt_state.h"
#include "timeline/job.h"

namespace headway::timeline {

// What must be known before the first event. A job that turns out to need another choice asks for a
// reread and says which: wanted().
struct LiveOptions {
  bool use_steps = false;     // some step has no `data`: numbers serve for the whole job
  bool device_times = false;  // steps end when the device says so
};

class LiveJob {
 public:
  static constexpr std::uint32_t ranks_max = 65536;

  LiveJob(std::string job, std::shared_ptr<event::NameTable> names,
          const LiveOptions& options = {});

  void consume(const event::StreamInfo& stream, std::span<const event::Event> events);
  [[nodiscard]] bool must_reread() const { return must_reread_; }
  [[nodiscard]] const LiveOptions& wanted() const { return wanted_; }
  // Forgets all, and takes in what the streams have; must_reread() only where what they say cannot
  // be taken in at all yet: a rank is far behind the others.
  void reread(const event::JobStreams& job);
  // `now_ns` is set while the job is alive.
  [[nodiscard]] JobResult snapshot(std::optional<std::int64_t> now_ns) const;

 private:
  void begin_again(const EarlierAttempts& earlier);
  bool open_attempt(const event::StreamInfo& stream, std::int64_t first_ns);
  std::optional<std::size_t> index_of(const event::StreamInfo& stream);

  std::string job_;
  std::shared_ptr<event::NameTable> names_;
  std::vector<AttemptResult> closed_;  // attempts that a later one has ended
  std::unique_ptr<AttemptState> state_;
  AttemptOptions options_;
  std::map<std::uint32_t, std::size_t> index_;
  std::map<std::uint32_t, std::string> origin_;  // of the journal that tells of a rank
  std::uint32_t world_size_ = 0;
  LiveOptions wanted_;
  bool must_reread_ = false;
};

}  // namespace headway::timeline
