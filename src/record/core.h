// The recorder's hot path: a record from the call to the committed slot, with no system call, lock
// or allocation. Everything here is inlined into the C ABI's functions (api.cc); what happens once
// per process lives in recorder.h. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "event/record.h"

namespace headway::record {

// What the hot path reads. `header` is published last and is null while nothing is recorded; the
// memory behind it stays mapped for ever, so that a thread caught in the middle of a record by
// hw_shutdown() does no harm.
struct alignas(64) Core {
  std::atomic<event::JournalHeader*> header{nullptr};
  std::atomic<std::uint64_t> session{0};  // of lanes: changes with hw_init() and in a forked child
  std::atomic<base::TickKind> clock{base::TickKind::monotonic_ns};
};
extern Core g_core;

// session << 16 | lane, of this thread. Initial-exec: one instruction, no call into the loader.
extern __thread std::uint64_t t_lane_tag __attribute__((tls_model("initial-exec")));

inline constexpr std::uint64_t lanes_max = 65535;  // later threads share the last lane

// A thread's first record of a session.
std::uint16_t take_lane(event::JournalHeader* header, std::uint64_t session);

inline event::Record* slots_of(event::JournalHeader* header) {
  return reinterpret_cast<event::Record*>(reinterpret_cast<char*>(header) + event::kHeaderBytes);
}

// The three below are templates only so that interleaving_test.cc can run this very code over
// memory that stops between any two accesses. The recorder itself has one Header,
// event::JournalHeader.

// `count` consecutive slots, or null after counting the drop. The cursor never passes the limit.
template <typename Header>
[[gnu::always_inline]] inline auto reserve(Header* header, std::uint64_t count)
    -> decltype(slots_of(header)) {
  const std::uint64_t limit = header->limit.load(std::memory_order_acquire);
  std::uint64_t slot = header->cursor.load(std::memory_order_relaxed);
  do {
    if (slot + count > limit) [[unlikely]] {
      header->dropped.fetch_add(count, std::memory_order_relaxed);
      return nullptr;
    }
  } while (!header->cursor.compare_exchange_weak(slot, slot + count, std::memory_order_relaxed));
  return slots_of(header) + slot;
}

template <typename Slot>
[[gnu::always_inline]] inline void commit(Slot* slot, event::EventType type, std::uint16_t name,
                                          std::uint16_t lane, std::uint64_t t, std::int64_t a,
                                          std::int64_t b) {
  const std::uint32_t word =
      event::commit_word(event::record_check(t, a, b, name, lane, type), type);
  slot->t = t;
  slot->a = a;
  slot->b = b;
  slot->name = name;
  slot->lane = lane;
  std::atomic_ref(slot->commit).store(word, std::memory_order_release);
}

template <typename Header>
[[gnu::always_inline]] inline void put_in(Header* header, event::EventType type, std::uint16_t name,
                                          std::uint16_t lane, std::uint64_t t, std::int64_t a,
                                          std::int64_t b) {
  auto* slot = reserve(header, 1);
  if (slot == nullptr) [[unlikely]]
    return;
  commit(slot, type, name, lane, t, a, b);
}

[[gnu::always_inline]] inline std::uint16_t lane_of_this_thread(event::JournalHeader* header) {
  const std::uint64_t session = g_core.session.load(std::memory_order_relaxed);
  const std::uint64_t tag = t_lane_tag;
  if (tag >> 16 != session) [[unlikely]]
    return take_lane(header, session);
  return static_cast<std::uint16_t>(tag);
}

[[gnu::always_inline]] inline void put_at(event::EventType type, std::uint16_t name, std::int64_t a,
                                          std::int64_t b, std::uint64_t ticks) {
  event::JournalHeader* header = g_core.header.load(std::memory_order_acquire);
  if (header == nullptr) return;
  put_in(header, type, name, lane_of_this_thread(header), ticks, a, b);
}

// The clock is read before the slot is reserved; an anchor does it the other way round. So a record
// that lies before an anchor is never later than it, and TickMap is one function of ticks.
[[gnu::always_inline]] inline void put(event::EventType type, std::uint16_t name, std::int64_t a,
                                       std::int64_t b) {
  event::JournalHeader* header = g_core.header.load(std::memory_order_acquire);
  if (header == nullptr) return;
  const std::uint64_t ticks = base::read_ticks(g_core.clock.load(std::memory_order_relaxed));
  put_in(header, type, name, lane_of_this_thread(header), ticks, a, b);
}

}  // namespace headway::record
