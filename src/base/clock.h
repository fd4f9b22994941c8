// Clocks: the processor's tick counter where it can be trusted, CLOCK_MONOTONIC where it cannot,
// and the anchors that tie ticks to monotonic and to real time. The pure cores never read a clock;
// only the recorder, the agent and the tools include this. Any thread; nothing here allocates
// except the text helpers.
#pragma once

#include <time.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace headway::base {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// What a tick counter may plausibly run at: 1 MHz (the slowest ARM system counters) to 20 GHz.
inline constexpr std::uint64_t tick_hz_min = 1'000'000;
inline constexpr std::uint64_t tick_hz_max = 20'000'000'000;

inline std::int64_t clock_ns(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * kNsPerSecond + ts.tv_nsec;
}
inline std::int64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}
inline std::int64_t real_ns() {
  return clock_ns(CLOCK_REALTIME);
}

// The numbers are those of a journal's clock_kind.
enum class TickKind : std::uint32_t { monotonic_ns = 0, tsc = 1 };

// True where the tick counter runs at one rate on all processors, whatever their power state:
// CPUID says so and the kernel has not found otherwise. HEADWAY_CLOCK=monotonic turns it off.
[[nodiscard]] bool tsc_is_invariant();

// The tick counter. 0 on a processor without one, where tsc_is_invariant() is false.
inline std::uint64_t read_tsc() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

inline std::uint64_t read_ticks(TickKind kind) {
  return kind == TickKind::tsc ? read_tsc() : static_cast<std::uint64_t>(monotonic_ns());
}

// One instant in three clocks.
struct Instant {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;
  std::int64_t real_ns = 0;
};
// The tightest of a few bracketed readings: ticks and monotonic agree to some tens of ns.
[[nodiscard]] Instant take_instant(TickKind kind);

struct TickClock {
  TickKind kind = TickKind::monotonic_ns;
  std::uint64_t hz = static_cast<std::uint64_t>(kNsPerSecond);
};
// Measures the tick counter against CLOCK_MONOTONIC for `wait_ns`. A rank uses 1 ms (about 50 ppm;
// the journal's later anchors correct it); the agent, which has the time, 20 ms or more.
[[nodiscard]] TickClock calibrate_tick_clock(std::int64_t wait_ns);
// The rate in `text` (HEADWAY_TSC_HZ) where it is plausible and within 1% of a 50 us measurement,
// so that a value that leaked in from another host does no harm; else a calibration of 1 ms.
[[nodiscard]] TickClock tick_clock_from(const char* text);

using BootId = std::array<std::uint8_t, 16>;
[[nodiscard]] BootId boot_id();  // all zero where the kernel does not tell

// Ties monotonic to real time for a whole attempt on one host: HEADWAY_ANCHOR,
// "<boot id, 32 hex digits>:<monotonic ns>:<real ns>". Set once by the agent, never refreshed.
struct RealAnchor {
  BootId boot{};
  std::int64_t monotonic_ns = 0;
  std::int64_t real_ns = 0;
};
[[nodiscard]] RealAnchor take_real_anchor();
[[nodiscard]] std::string to_text(const RealAnchor& anchor);
[[nodiscard]] std::optional<RealAnchor> parse_real_anchor(std::string_view text);

}  // namespace headway::base
