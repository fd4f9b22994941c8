// The C ABI (include/headway/headway.h). Nothing thrown and no change of errno gets past here.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "event/event.h"
#include "headway/headway.h"
#include "record/board.h"
#include "record/core.h"
#include "record/recorder.h"

namespace {

namespace record = headway::record;
using headway::event::EventType;
using headway::event::kOtherNameId;
using record::put;
using record::put_at;

class KeepErrno {
 public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int saved_;
};

std::uint16_t intern(const char* text) {
  const KeepErrno keep;
  try {
    return record::intern_name(text);
  } catch (...) {
    return kOtherNameId;
  }
}

}  // namespace

extern "C" {

int hw_init(const hw_options* options) {
  const KeepErrno keep;
  try {
    return record::begin_recording(options);
  } catch (...) {
    return ENOMEM;
  }
}

void hw_shutdown(void) {
  const KeepErrno keep;
  try {
    record::end_recording();
  } catch (...) {  // nothing to tell anybody: recording has stopped
  }
}

void hw_pause(void) {
  const KeepErrno keep;
  record::pause_keeper();
}

void hw_resume(void) {
  const KeepErrno keep;
  record::resume_keeper();
}

const char* hw_journal_path(void) {
  try {
    return record::journal_path();
  } catch (...) {
    return "";
  }
}

void hw_get_stats(hw_stats* stats) {
  if (stats == nullptr || stats->struct_size < sizeof(stats->struct_size)) return;
  hw_stats filled{};
  filled.struct_size = stats->struct_size;
  record::fill_stats(filled);
  std::memcpy(stats, &filled, std::min<std::size_t>(stats->struct_size, sizeof(filled)));
}

uint16_t hw_phase_id(const char* name) {
  if (name == nullptr) return HW_PHASE_NONE;
  if (const auto builtin = headway::event::phase_from_name(name)) return *builtin;
  return intern(name);
}

uint16_t hw_name_id(const char* text) {
  return intern(text);
}

void hw_attr(const char* key, const char* value) {
  const std::uint16_t key_id = intern(key);
  if (key_id == 0) return;
  put(EventType::attr, key_id, intern(value), 0);
}

uint64_t hw_now(void) {
  return headway::base::read_ticks(record::g_core.clock.load(std::memory_order_relaxed));
}

uint64_t hw_ticks_from_monotonic_ns(int64_t monotonic_ns) {
  const KeepErrno keep;
  return record::ticks_from_monotonic(monotonic_ns);
}

void hw_begin(uint16_t phase) {
  put(EventType::begin, phase, 0, 0);
}
void hw_end(uint16_t phase) {
  put(EventType::end, phase, 0, 0);
}
void hw_begin_at(uint16_t phase, uint64_t ticks) {
  put_at(EventType::begin, phase, 0, 0, ticks);
}
void hw_end_at(uint16_t phase, uint64_t ticks) {
  put_at(EventType::end, phase, 0, 0, ticks);
}
void hw_end_compile(int warm) {
  put(EventType::end, HW_PHASE_COMPILE, warm != 0 ? 1 : 0, 0);
}
void hw_step(int64_t step, int64_t data) {
  put(EventType::step, 0, step, data);
}
void hw_step_end(int64_t step, int64_t data) {
  put(EventType::step_end, 0, step, data);
}
void hw_checkpoint(int64_t step, int64_t data, int state) {
  put(EventType::checkpoint, static_cast<std::uint16_t>(state), step, data);
}
void hw_restore(int64_t step, int64_t data, uint16_t tier_name_id) {
  put(EventType::restore, tier_name_id, step, data);
}
void hw_mark(uint16_t mark) {
  hw_mark_at(mark, hw_now());
}
void hw_mark_at(uint16_t mark, uint64_t ticks) {
  // A bare failure or exit names no rank: b would otherwise say rank 0.
  const bool ends = mark == HW_MARK_FAILURE || mark == HW_MARK_EXIT;
  put_at(EventType::mark, mark, 0, ends ? headway::event::pack_end_b({}) : 0, ticks);
}
void hw_mark_end(uint16_t mark, int32_t exit_code, int32_t signal, int origin, uint32_t rank,
                 uint16_t reason) {
  const headway::event::EndInfo end{exit_code, signal, origin, rank, reason};
  put(EventType::mark, mark, headway::event::pack_end_a(end), headway::event::pack_end_b(end));
}
void hw_hang(uint64_t since_ticks, uint32_t rank) {
  put(EventType::hang, 0, static_cast<std::int64_t>(since_ticks), rank);
}
int hw_should_stop(int64_t step) {
  const KeepErrno keep;
  try {
    static record::BoardSeat seat = record::board_from_environment();
    return seat.board.valid() && seat.board.should_stop(seat.slot, step) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}
void hw_device_done(int64_t step, uint64_t ticks) {
  put_at(EventType::device_done, 0, step, 0, ticks);
}

}  // extern "C"
