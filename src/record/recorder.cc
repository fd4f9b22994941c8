#include "record/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "base/pid_namespace.h"
#include "base/wide.h"
#include "event/vocabulary.h"
#include "record/core.h"
#include "record/journal_file.h"
#include "record/keeper.h"
#include "record/name_interner.h"
#include "record/settings.h"

namespace headway::record {

Core g_core;
__thread std::uint64_t t_lane_tag __attribute__((tls_model("initial-exec"))) = 0;

namespace {

enum class State : int { idle, changing, active };

// Never destroyed: threads may record while the process exits.
struct Recorder {
  std::atomic<State> state{State::idle};
  std::atomic<bool> owner{false};  // this process created the journal, and has the keeper
  JournalFile file;
  Keeper keeper;
  std::mutex keeper_mutex;  // its starts and stops; never held while recording
  NameInterner names;
  std::array<char, 4096> path{};
};

Recorder& recorder() {
  static auto* const instance = new Recorder;
  return *instance;
}

// Fork. The parent's keeper goes on growing the journal for both.
void before_fork() {
  Recorder& r = recorder();
  r.names.lock();
  // Counted on this side of the fork, so that a shutdown in the parent cannot miss the child.
  if (auto* header = g_core.header.load(std::memory_order_acquire)) {
    header->forks.fetch_add(1, std::memory_order_relaxed);
  }
}

void after_fork_in_parent() {
  recorder().names.unlock();
}

void after_fork_in_child() {
  Recorder& r = recorder();
  r.names.unlock();
  new (&r.keeper_mutex) std::mutex;  // whoever held it does not exist here
  r.owner.store(false, std::memory_order_relaxed);
  g_core.session.fetch_add(1, std::memory_order_relaxed);  // this thread takes a lane of its own
  if (r.state.load(std::memory_order_relaxed) == State::changing) {
    // Another thread was inside hw_init() or hw_shutdown(); it does not exist here.
    g_core.header.store(nullptr, std::memory_order_relaxed);
    r.file.abandon();
    r.state.store(State::idle, std::memory_order_relaxed);
  }
}

void register_fork_handlers() {
  static const int once = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)once;
}

void copy_text(char* to, std::size_t bytes, const std::string& text) {
  const std::size_t n = std::min(bytes - 1, text.size());
  std::memcpy(to, text.data(), n);
}

event::HeaderFields make_header(const Settings& s, const base::TickClock& clock) {
  event::HeaderFields h{};
  h.clock_kind = static_cast<std::uint32_t>(clock.kind);
  h.attempt = s.attempt;
  h.rank = s.rank;
  h.local_rank = s.local_rank;
  h.world_size = s.world_size;
  h.pid = static_cast<std::uint32_t>(::getpid());
  h.pid_namespace = base::pid_namespace();
  h.clock_hz = clock.hz;
  const base::Instant now = base::take_instant(clock.kind);
  h.anchor_ticks = now.ticks;
  h.anchor_monotonic_ns = now.monotonic_ns;
  h.anchor_real_ns = now.real_ns;
  const base::BootId boot = base::boot_id();
  std::memcpy(h.boot_id, boot.data(), sizeof(h.boot_id));
  if (const char* text = std::getenv("HEADWAY_ANCHOR")) {
    const auto given = base::parse_real_anchor(text);
    // An anchor of another boot (or host) says nothing about this monotonic clock.
    if (given && given->boot == boot && boot != base::BootId{}) {
      std::int64_t real = 0;
      if (!__builtin_sub_overflow(now.monotonic_ns, given->monotonic_ns, &real) &&
          !__builtin_add_overflow(real, given->real_ns, &real)) {
        h.anchor_real_ns = real;
      }
    }
  }
  copy_text(h.job, sizeof(h.job), s.job);
  copy_text(h.host, sizeof(h.host), s.host);
  return h;
}

int begin_unlocked(Recorder& r, const hw_options* options) {
  Settings settings;
  if (const int error = resolve_settings(options, settings)) return error;
  const base::TickClock clock = base::tick_clock_from(std::getenv("HEADWAY_TSC_HZ"));
  const event::HeaderFields header = make_header(settings, clock);
  if (const int error = r.file.create(settings, header)) return error;
  r.names.clear();
  r.path.fill('\0');
  copy_text(r.path.data(), r.path.size(), r.file.path());
  r.owner.store(true, std::memory_order_relaxed);
  g_core.clock.store(clock.kind, std::memory_order_relaxed);
  const std::uint64_t session = g_core.session.fetch_add(1, std::memory_order_relaxed) + 1;
  t_lane_tag = session << 16;  // lane 0: the training thread's
  g_core.header.store(r.file.header(), std::memory_order_release);
  const std::lock_guard lock(r.keeper_mutex);
  r.keeper.start(&r.file, clock.kind,
                 {header.anchor_ticks, header.anchor_monotonic_ns, header.anchor_real_ns});
  return 0;
}

}  // namespace

std::uint16_t take_lane(event::JournalHeader* header, std::uint64_t session) {
  const std::uint64_t next = header->next_lane.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t lane = std::min(next, lanes_max);
  t_lane_tag = (session << 16) | lane;
  return static_cast<std::uint16_t>(lane);
}

int begin_recording(const hw_options* options) {
  Recorder& r = recorder();
  register_fork_handlers();
  State idle = State::idle;
  if (!r.state.compare_exchange_strong(idle, State::changing, std::memory_order_acq_rel)) {
    return EALREADY;
  }
  int error = ENOMEM;
  try {
    error = begin_unlocked(r, options);
  } catch (...) {
    r.file.abandon();
  }
  r.state.store(error == 0 ? State::active : State::idle, std::memory_order_release);
  return error;
}

void end_recording() {
  Recorder& r = recorder();
  State active = State::active;
  if (!r.state.compare_exchange_strong(active, State::changing, std::memory_order_acq_rel)) return;
  event::JournalHeader* header = g_core.header.exchange(nullptr, std::memory_order_acq_rel);
  if (!r.owner.load(std::memory_order_relaxed)) {
    r.file.abandon();
  } else {
    const std::lock_guard lock(r.keeper_mutex);
    r.keeper.stop();
    write_anchor(header, g_core.clock.load(std::memory_order_relaxed));
    if (header->forks.load(std::memory_order_relaxed) == 0) {
      r.file.seal();
    } else {
      r.file.close_shared();
    }
  }
  r.state.store(State::idle, std::memory_order_release);
}

void pause_keeper() {
  Recorder& r = recorder();
  const std::lock_guard lock(r.keeper_mutex);
  if (r.owner.load(std::memory_order_relaxed)) r.keeper.pause();
}

void resume_keeper() {
  Recorder& r = recorder();
  const std::lock_guard lock(r.keeper_mutex);
  if (r.owner.load(std::memory_order_relaxed)) r.keeper.resume();
}

const char* journal_path() {
  return recorder().path.data();
}

void fill_stats(hw_stats& stats) {
  const event::JournalHeader* h = g_core.header.load(std::memory_order_acquire);
  if (h == nullptr) return;
  stats.active = 1;
  stats.records = h->cursor.load(std::memory_order_relaxed) & ~event::kSealedBit;
  stats.dropped = h->dropped.load(std::memory_order_relaxed);
  stats.bytes =
      event::kHeaderBytes + h->limit.load(std::memory_order_relaxed) * sizeof(event::Record);
  stats.names = h->next_name.load(std::memory_order_relaxed) - event::kOtherNameId - 1;
  stats.names_dropped = h->names_dropped.load(std::memory_order_relaxed);
}

std::uint16_t intern_name(const char* text) {
  event::JournalHeader* header = g_core.header.load(std::memory_order_acquire);
  if (header == nullptr || text == nullptr) return 0;
  return recorder().names.intern(header, text);
}

// Before the header's anchor a reader extends the header's line, so the same line gives back the
// exact time. Later, the best known rate leads there from the present.
std::uint64_t ticks_from_monotonic(std::int64_t monotonic_ns) {
  const event::JournalHeader* header = g_core.header.load(std::memory_order_acquire);
  if (header == nullptr) return 0;
  const base::TickKind clock = g_core.clock.load(std::memory_order_relaxed);
  if (clock == base::TickKind::monotonic_ns) return static_cast<std::uint64_t>(monotonic_ns);
  const event::HeaderFields& fixed = header->fixed;
  base::Instant from{fixed.anchor_ticks, fixed.anchor_monotonic_ns, 0};
  std::uint64_t hz = fixed.clock_hz;
  const bool before = monotonic_ns <= from.monotonic_ns;
  if (!before) {
    from = base::take_instant(clock);
    if (const std::uint64_t measured = recorder().keeper.measured_hz()) hz = measured;
  }
  const base::Int128 ns = static_cast<base::Int128>(monotonic_ns) - from.monotonic_ns;
  const base::Int128 ticks = ns * static_cast<std::int64_t>(hz) / base::kNsPerSecond;
  const auto result = from.ticks + static_cast<std::uint64_t>(ticks);
  if (!before && static_cast<std::int64_t>(result - fixed.anchor_ticks) < 0) {
    return fixed.anchor_ticks;
  }
  return result;
}

}  // namespace headway::record
