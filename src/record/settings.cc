#include "record/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"
#include "base/job_path.h"

namespace headway::record {
namespace {

using base::kLaunchesPerAllocation;

// nullptr where unset or empty.
const char* env(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// A decimal number, or what is there already where the variable is not set. False: not a number.
template <typename T>
bool env_number(const char* name, T& value) {
  const char* text = env(name);
  if (text == nullptr) return true;
  const char* end = text + std::strlen(text);
  T parsed{};
  const auto result = std::from_chars(text, end, parsed);
  if (result.ec != std::errc{} || result.ptr != end) return false;
  value = parsed;
  return true;
}

// When a process began, in real-time seconds; the present where /proc does not tell.
std::int64_t start_of_process_s(pid_t pid) {
  constexpr std::size_t kBytesMax = 65536;
  const std::int64_t now_s = base::real_ns() / base::kNsPerSecond;
  const auto stat = base::read_file("/proc/" + std::to_string(pid) + "/stat", kBytesMax);
  if (!stat.ok()) return now_s;
  const std::string& text = stat.value();
  std::size_t at = text.rfind(')');  // the name before it may hold anything
  constexpr int kFieldsToStart = 20;
  for (int i = 0; i < kFieldsToStart && at != std::string::npos; ++i) at = text.find(' ', at + 1);
  if (at == std::string::npos) return now_s;
  const std::int64_t ticks = std::strtoll(text.c_str() + at, nullptr, 10);
  const std::int64_t per_second = ::sysconf(_SC_CLK_TCK);
  if (ticks <= 0 || per_second <= 0) return now_s;
  const std::int64_t booted_ns = base::real_ns() - base::clock_ns(CLOCK_BOOTTIME);
  return booted_ns / base::kNsPerSecond + ticks / per_second;
}

// Outside of `headway run`. Ranks that one torchrun started must agree on a name that no other run
// ever gets: they share a parent, and a parent has a pid and a moment at which it began.
struct Adhoc {
  explicit Adhoc(bool is_rank)
      : pid(is_rank ? ::getppid() : ::getpid()), start_s(start_of_process_s(pid)) {}
  [[nodiscard]] std::string job() const {
    const std::time_t when = start_s;
    std::tm utc{};
    ::gmtime_r(&when, &utc);
    std::array<char, 32> date{};
    std::strftime(date.data(), date.size(), "%Y%m%d-%H%M%S", &utc);
    return std::string("adhoc-") + date.data() + "-" + std::to_string(pid);
  }
  pid_t pid;
  std::int64_t start_s;
};

std::string own_host() {
  std::array<char, 128> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

// A launcher inside `headway run` may restart its ranks by itself: each such restart is an attempt
// of its own. HEADWAY_RESTARTS is the count that HEADWAY_ATTEMPT stands for.
std::uint64_t restarted_attempt(std::uint64_t attempt, std::uint64_t restarts) {
  std::uint64_t counted = restarts;
  if (!env_number("HEADWAY_RESTARTS", counted) || counted >= restarts) return attempt;
  const std::uint64_t left = kLaunchesPerAllocation - 1 - attempt % kLaunchesPerAllocation;
  return attempt + std::min(restarts - counted, left);
}

int from_environment(Settings& s) {
  if (!env_number("RANK", s.rank) || !env_number("LOCAL_RANK", s.local_rank) ||
      !env_number("WORLD_SIZE", s.world_size) ||
      !env_number("HEADWAY_JOURNAL_MAX_BYTES", s.max_bytes)) {
    return EINVAL;
  }
  const bool is_rank = env("RANK") != nullptr;
  if (!is_rank && env("WORLD_SIZE") == nullptr) s.world_size = 1;
  const char* job = env("HEADWAY_JOB");
  const bool has_attempt = env("HEADWAY_ATTEMPT") != nullptr;
  if (!env_number("HEADWAY_ATTEMPT", s.attempt)) return EINVAL;
  std::uint64_t restarts = 0;
  if (!env_number("TORCHELASTIC_RESTART_COUNT", restarts)) restarts = 0;
  if (job != nullptr && has_attempt) {
    s.job = job;
    s.attempt = restarted_attempt(s.attempt, restarts);
    return 0;
  }
  const Adhoc adhoc(is_rank);
  const std::uint64_t launch = std::min(1 + restarts, kLaunchesPerAllocation - 1);
  s.job = job != nullptr ? std::string(job) : adhoc.job();
  // A job that has a name but no attempt: the start's second stands for the allocation, which is
  // ordered and new. A job of its own name needs no more than its launch.
  if (!has_attempt) {
    s.attempt = job == nullptr
                    ? launch
                    : static_cast<std::uint64_t>(adhoc.start_s) * kLaunchesPerAllocation + launch;
  }
  return 0;
}

int from_options(const hw_options& given, Settings& s) {
  if (given.struct_size < offsetof(hw_options, host)) return EINVAL;
  hw_options o{};
  std::memcpy(&o, &given, std::min<std::size_t>(given.struct_size, sizeof(o)));
  s.rank = o.rank;
  s.local_rank = o.local_rank;
  s.world_size = o.world_size;
  s.attempt = o.attempt;
  if (o.max_bytes != 0) s.max_bytes = o.max_bytes;
  if (o.dir != nullptr) s.dir = o.dir;
  if (o.host != nullptr) s.host = o.host;
  s.job = o.job != nullptr ? std::string(o.job) : Adhoc(false).job();
  return 0;
}

}  // namespace

int resolve_settings(const hw_options* options, Settings& s) {
  const char* disabled = env("HEADWAY_DISABLE");
  if (disabled != nullptr && std::strcmp(disabled, "0") != 0) return ECANCELED;
  if (const int error = options != nullptr ? from_options(*options, s) : from_environment(s)) {
    return error;
  }
  if (!base::is_job_name(s.job)) return EINVAL;
  if (s.host.empty()) s.host = own_host();
  if (s.dir.empty()) {
    const auto root = base::jobs_root();
    if (!root.ok()) return ENOENT;
    s.dir = base::attempt_dir(root.value(), s.job, s.attempt);
  }
  s.stem =
      s.rank == HW_RANK_AGENT ? base::agent_journal_stem(s.host) : base::rank_journal_stem(s.rank);
  s.max_bytes = std::clamp(s.max_bytes, journal_bytes_min, journal_bytes_max);
  return 0;
}

}  // namespace headway::record
