#include "base/clock.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/wide.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace headway::base {
namespace {

constexpr std::size_t small_file_bytes_max = 4096;

bool cpu_says_invariant() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
#elif defined(__aarch64__)
  return true;  // the generic timer's counter runs at one rate by definition
#else
  return false;
#endif
}

// The kernel watches the TSC and takes it off this list when sockets disagree. A file that cannot
// be read (a container without /sys) says nothing, and the processor's word stands.
bool kernel_says_unstable() {
#if defined(__x86_64__)
  const auto text = read_file("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                              small_file_bytes_max);
  return text.ok() && text.value().find("tsc") == std::string::npos;
#else
  return false;
#endif
}

std::uint64_t rate(const Instant& from, const Instant& to) {
  const std::int64_t ns = to.monotonic_ns - from.monotonic_ns;
  if (ns <= 0 || to.ticks <= from.ticks) return 0;
  const auto ticks = static_cast<Uint128>(to.ticks - from.ticks);
  return static_cast<std::uint64_t>(ticks * static_cast<unsigned>(kNsPerSecond) /
                                    static_cast<std::uint64_t>(ns));
}

bool plausible(std::uint64_t hz) {
  return hz >= tick_hz_min && hz <= tick_hz_max;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// 32 hex digits, dashes anywhere between them.
bool parse_boot_id(std::string_view text, BootId& id) {
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const int digit = hex_digit(c);
    if (digit < 0 || digits >= 2 * id.size()) return false;
    auto& byte = id[digits / 2];
    byte = static_cast<std::uint8_t>((byte << 4) | digit);
    ++digits;
  }
  return digits == 2 * id.size();
}

bool parse_int(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

bool tsc_is_invariant() {
  const char* wish = std::getenv("HEADWAY_CLOCK");
  if (wish != nullptr && std::strcmp(wish, "monotonic") == 0) return false;
  static const bool invariant = cpu_says_invariant() && !kernel_says_unstable();
  return invariant;
}

Instant take_instant(TickKind kind) {
  constexpr int kTries = 5;
  Instant best;
  std::uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = read_ticks(kind);
    const std::int64_t mono = monotonic_ns();
    const std::uint64_t after = read_ticks(kind);
    if (after - before >= best_width) continue;
    best_width = after - before;
    best.monotonic_ns = mono;
    best.ticks = kind == TickKind::tsc ? before + best_width / 2 : static_cast<std::uint64_t>(mono);
  }
  // Real time only has to be good to well below a second, but shall not be off by a preemption.
  const std::int64_t mono_before = monotonic_ns();
  const std::int64_t real = real_ns();
  const std::int64_t mono_after = monotonic_ns();
  best.real_ns = real - (mono_before + (mono_after - mono_before) / 2) + best.monotonic_ns;
  return best;
}

TickClock calibrate_tick_clock(std::int64_t wait_ns) {
  if (!tsc_is_invariant()) return {};
#if defined(__aarch64__)
  std::uint64_t hz = 0;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  if (plausible(hz)) return {TickKind::tsc, hz};
#endif
  const Instant from = take_instant(TickKind::tsc);
  const timespec wait{wait_ns / kNsPerSecond, wait_ns % kNsPerSecond};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, nullptr);
  const std::uint64_t measured = rate(from, take_instant(TickKind::tsc));
  if (!plausible(measured)) return {};
  return {TickKind::tsc, measured};
}

TickClock tick_clock_from(const char* text) {
  constexpr std::int64_t kWaitNs = 1'000'000;
  constexpr std::int64_t kProbeNs = 50'000;
  std::int64_t hz = 0;
  if (text == nullptr || !parse_int(text, hz) || hz < 0 ||
      !plausible(static_cast<std::uint64_t>(hz)) || !tsc_is_invariant()) {
    return calibrate_tick_clock(kWaitNs);
  }
  const Instant from = take_instant(TickKind::tsc);
  while (monotonic_ns() - from.monotonic_ns < kProbeNs) {
  }
  const auto given = static_cast<std::uint64_t>(hz);
  const std::uint64_t measured = rate(from, take_instant(TickKind::tsc));
  const std::uint64_t off = measured > given ? measured - given : given - measured;
  if (off > given / 100) return calibrate_tick_clock(kWaitNs);
  return {TickKind::tsc, given};
}

BootId boot_id() {
  BootId id{};
  const auto text = read_file("/proc/sys/kernel/random/boot_id", small_file_bytes_max);
  if (!text.ok()) return id;
  std::string_view line = text.value();
  while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  if (!parse_boot_id(line, id)) return {};
  return id;
}

RealAnchor take_real_anchor() {
  const Instant now = take_instant(TickKind::monotonic_ns);
  return {boot_id(), now.monotonic_ns, now.real_ns};
}

std::string to_text(const RealAnchor& anchor) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : anchor.boot) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text + ":" + std::to_string(anchor.monotonic_ns) + ":" + std::to_string(anchor.real_ns);
}

std::optional<RealAnchor> parse_real_anchor(std::string_view text) {
  const auto first = text.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const auto second = text.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  RealAnchor anchor;
  if (!parse_boot_id(text.substr(0, first), anchor.boot) ||
      !parse_int(text.substr(first + 1, second - first - 1), anchor.monotonic_ns) ||
      !parse_int(text.substr(second + 1), anchor.real_ns)) {
    return std::nullopt;
  }
  return anchor;
}

}  // namespace headway::base
