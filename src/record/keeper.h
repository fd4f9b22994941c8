// The recorder's background thread. It keeps room ahead of the cursor (room.h), so that the hot
// path never waits for a disk, and writes the anchors by which a reader corrects the tick clock. It
// blocks all signals, is called "headway", and sleeps 25 ms (50 ms when nothing was recorded)
// between looks, but not while writers take room faster than it has been made. Started by
// hw_init(), stopped by hw_shutdown(); a forked child does not have it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "event/record.h"
#include "record/journal_file.h"
#include "record/room.h"

namespace headway::record {

class Keeper {
 public:
  // False when no thread could be had: then the journal keeps the room that it is given here.
  bool start(JournalFile* file, base::TickKind clock, const base::Instant& begin);
  void stop();  // joins
  // Without the thread for a while. resume() does nothing unless paused.
  void pause();
  void resume();

  // Ticks per second over the whole time since start(), better than the calibration's.
  [[nodiscard]] std::uint64_t measured_hz() const { return hz_.load(std::memory_order_relaxed); }

 private:
  static void* run(void* self);
  bool launch();
  void loop();
  void refine(const base::Instant& now);
  bool sleep_until(std::int64_t deadline_ns);

  JournalFile* file_ = nullptr;
  Room room_;
  base::TickKind clock_ = base::TickKind::monotonic_ns;
  base::Instant begin_;
  std::atomic<std::uint32_t> stop_{0};
  std::atomic<std::uint64_t> hz_{0};
  std::atomic<pid_t> thread_id_{0};  // as the kernel counts
  pthread_t thread_{};
  bool running_ = false;
  bool paused_ = false;
};

// Reserves first, then reads the clocks (see put() in core.h). Returns what it wrote.
base::Instant write_anchor(event::JournalHeader* header, base::TickKind clock);

}  // namespace headway::record
