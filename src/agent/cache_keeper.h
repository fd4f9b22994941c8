// The process that keeps a job's compile cache (`headway cache keep`), as the agent sees it: it
// unpacks what fits before the ranks start, and packs and pushes what they add, at low priority.
// Its faults, its slowness and its end cost a note and a cold start. Main thread only; nothing but
// wait_until_pulled() and finish() waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/cache_place.h"
#include "agent/chore.h"
#include "agent/console.h"
#include "agent/environment.h"
#include "agent/signals.h"
#include "agent/sweep.h"
#include "base/file.h"

namespace headway::agent {

class CacheKeeper final : public Chore {
 public:
  static constexpr std::int64_t pull_wait_ns = 120'000'000'000;
  static constexpr std::int64_t finish_wait_ns = 60'000'000'000;

  CacheKeeper(Console& console, const Signals& signals, Sweep& sweep)
      : console_(console), signals_(signals), sweep_(sweep) {}

  // Begins to pull, where there may be something. `ranks`: of the job, 0 where there may
  // be no group.
  void open(const CachePlace& place, const std::string& python, int ranks,
            const Environment& environment);
  [[nodiscard]] bool on() const { return place_.has_value(); }
  // What ranks have to know of it.
  void add_to(Environment& environment) const;

  // Before ranks start. Returns early when a signal waits to be read.
  void wait_until_pulled();
  // The ranks of an attempt start now. `trained`: have all of them finished their first steps?
  void begin_attempt(std::function<bool()> trained);
  // What is still to be pushed is; not where somebody asked us to be quick.
  void finish(bool hurried);

  // What was pulled, for the job's record: once, when it is known.
  struct Pulled {
    std::uint64_t archives = 0, files = 0, bytes = 0, same = 0;
    double seconds = 0;
  };
  std::optional<Pulled> take_pulled();

  [[nodiscard]] std::optional<std::int64_t> next_ns() const override;
  void serve(std::int64_t now_ns) override;
  void on_reaped(pid_t pid) override;

 private:
  enum class State { idle, pulling, ready, pushing, gone };
  void start();
  void receive();
  void take(const std::string& text);
  void ask_to_push();
  void give_up(const std::string& why);
  bool wait_for(State busy, std::int64_t limit_ns, const std::string& doing);
  [[nodiscard]] bool has_compiled() const;

  Console& console_;
  const Signals& signals_;
  Sweep& sweep_;
  std::optional<CachePlace> place_;
  std::string python_;
  int ranks_ = 0;
  Environment environment_;
  State state_ = State::idle;
  base::UniqueFd channel_;
  pid_t pid_ = 0;
  std::int64_t pull_began_ns_ = 0;
  std::optional<Pulled> pulled_;
  std::function<bool()> trained_;
  std::int64_t next_ns_ = 0;     // 0: nothing is due
  std::int64_t pause_ns_ = 0;    // until the push after the next
  bool began_ = false;           // ranks have started
  bool failed_to_push_ = false;  // told
};

// "2 new files and 1 file of another family or processor". `passed_on`: of the files, those that
// came from the very shelf, out of what it holds for others.
[[nodiscard]] std::string pushed_text(std::uint64_t files, std::uint64_t passed_on);

}  // namespace headway::agent
