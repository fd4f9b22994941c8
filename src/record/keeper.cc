#include "record/keeper.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "base/wide.h"
#include "record/core.h"

namespace headway::record {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t look_busy_ns = 25 * kMs;
constexpr std::int64_t look_idle_ns = 50 * kMs;
constexpr std::int64_t retry_ns = 1000 * kMs;
constexpr std::int64_t anchor_every_ns = 5000 * kMs;
constexpr std::size_t stack_bytes = 256 * 1024;
constexpr int goes_looks_max = 1000;

// 1 ms, 10 ms, 100 ms, 1 s after the start, then every 5 s.
std::int64_t next_anchor_after(std::int64_t age_ns) {
  for (std::int64_t at = kMs; at <= 1000 * kMs; at *= 10) {
    if (age_ns < at) return at;
  }
  return age_ns + anchor_every_ns;
}

}  // namespace

base::Instant write_anchor(event::JournalHeader* header, base::TickKind clock) {
  event::Record* slot = reserve(header, 1);
  const base::Instant now = base::take_instant(clock);
  if (slot != nullptr) {
    commit(slot, event::EventType::anchor, 0, 0, now.ticks, now.monotonic_ns, now.real_ns);
  }
  return now;
}

bool Keeper::start(JournalFile* file, base::TickKind clock, const base::Instant& begin) {
  file_ = file;
  clock_ = clock;
  begin_ = begin;
  room_.open(file);
  hz_.store(0, std::memory_order_relaxed);
  paused_ = false;
  if (launch()) return true;
  room_.look();
  return false;
}

bool Keeper::launch() {
  stop_.store(0, std::memory_order_relaxed);
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return false;
  pthread_attr_setstacksize(&attr, stack_bytes);
  // The new thread inherits the mask, so it never sees a signal that is the trainer's.
  sigset_t all;
  sigset_t old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  running_ = pthread_create(&thread_, &attr, &Keeper::run, this) == 0 ||
             pthread_create(&thread_, nullptr, &Keeper::run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  pthread_attr_destroy(&attr);
  if (running_) pthread_setname_np(thread_, "headway");
  return running_;
}

void Keeper::stop() {
  paused_ = false;
  if (!running_) return;
  stop_.store(1, std::memory_order_release);
  ::syscall(SYS_futex, &stop_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  pthread_join(thread_, nullptr);
  running_ = false;
}

void Keeper::pause() {
  if (!running_) return;
  stop();
  paused_ = true;
  // A joined thread is counted a moment longer by those who look at /proc, as Python does.
  char task[40];
  std::snprintf(task, sizeof(task), "/proc/self/task/%d", thread_id_.load());
  for (int i = 0; i < goes_looks_max && ::access(task, F_OK) == 0; ++i) sched_yield();
}

void Keeper::resume() {
  if (!paused_) return;
  paused_ = false;
  launch();
}

void* Keeper::run(void* self) {
  static_cast<Keeper*>(self)->loop();
  return nullptr;
}

void Keeper::loop() {
  thread_id_.store(static_cast<pid_t>(::syscall(SYS_gettid)));
  event::JournalHeader* header = file_->header();
  const std::int64_t age_ns = base::monotonic_ns() - begin_.monotonic_ns;
  std::int64_t anchor_at_ns = begin_.monotonic_ns + next_anchor_after(age_ns);
  std::int64_t retry_at_ns = 0;  // after a failure to grow
  while (stop_.load(std::memory_order_acquire) == 0) {
    const Room::Found found = room_.look(base::monotonic_ns() >= retry_at_ns);
    std::int64_t now_ns = base::monotonic_ns();
    if (found == Room::Found::stuck) retry_at_ns = now_ns + retry_ns;
    if (now_ns >= anchor_at_ns) {
      const base::Instant anchor = write_anchor(header, clock_);
      refine(anchor);
      now_ns = anchor.monotonic_ns;
      anchor_at_ns = begin_.monotonic_ns + next_anchor_after(now_ns - begin_.monotonic_ns);
    }
    if (found == Room::Found::behind) continue;  // ends with the file's bound at the latest
    const bool quiet = found == Room::Found::quiet;
    const std::int64_t look_at_ns = now_ns + (quiet ? look_idle_ns : look_busy_ns);
    if (!sleep_until(std::min(look_at_ns, anchor_at_ns))) return;
  }
}

void Keeper::refine(const base::Instant& now) {
  const std::int64_t ns = now.monotonic_ns - begin_.monotonic_ns;
  if (ns < 50 * kMs || now.ticks <= begin_.ticks) return;
  const auto ticks = static_cast<base::Uint128>(now.ticks - begin_.ticks);
  hz_.store(static_cast<std::uint64_t>(ticks * static_cast<unsigned>(base::kNsPerSecond) /
                                       static_cast<std::uint64_t>(ns)),
            std::memory_order_relaxed);
}

// False when told to stop.
bool Keeper::sleep_until(std::int64_t deadline_ns) {
  static_assert(sizeof(stop_) == sizeof(std::uint32_t));
  const timespec deadline{deadline_ns / base::kNsPerSecond, deadline_ns % base::kNsPerSecond};
  ::syscall(SYS_futex, &stop_, FUTEX_WAIT_BITSET_PRIVATE, 0, &deadline, nullptr,
            FUTEX_BITSET_MATCH_ANY);
  return stop_.load(std::memory_order_acquire) == 0;
}

}  // namespace headway::record
