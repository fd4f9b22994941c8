#include "replica/memory_room.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/file.h"

namespace headway::replica {
namespace {

constexpr std::size_t kFileBytesMax = 64 << 10;

std::optional<std::uint64_t> number_in(const std::string& path) {
  const auto text = base::read_file(path, kFileBytesMax);
  if (!text.ok()) return std::nullopt;
  std::uint64_t value = 0;
  const char* const begin = text.value().data();
  const auto [end, error] = std::from_chars(begin, begin + text.value().size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;  // "max" is no number
}

std::optional<std::uint64_t> available_bytes() {
  const auto text = base::read_file("/proc/meminfo", kFileBytesMax);
  if (!text.ok()) return std::nullopt;
  const std::string key = "MemAvailable:";
  const std::size_t at = text.value().find(key);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t digits = text.value().find_first_of("0123456789", at + key.size());
  if (digits == std::string::npos) return std::nullopt;
  std::uint64_t kib = 0;
  std::from_chars(text.value().data() + digits, text.value().data() + text.value().size(), kib);
  return kib * 1024;
}

// The group's own line of /proc/self/cgroup, or "/" where the file system shows only this group.
std::string group_path(const std::string& controller) {
  const auto text = base::read_file("/proc/self/cgroup", kFileBytesMax);
  if (!text.ok()) return "/";
  const std::size_t at = text.value().find(controller);
  if (at == std::string::npos) return "/";
  const std::size_t begin = at + controller.size();
  return text.value().substr(begin, text.value().find('\n', begin) - begin);
}

std::optional<std::uint64_t> left_in(const std::string& folder, const char* limit,
                                     const char* used) {
  const auto most = number_in(folder + limit);
  const auto now = number_in(folder + used);
  if (!most || !now) return std::nullopt;
  return *most > *now ? *most - *now : 0;
}

// Every group on the way up may have a limit of its own, and the tightest counts.
std::uint64_t left_in_groups(const std::string& root, std::string path, const char* limit,
                             const char* used) {
  std::uint64_t least = UINT64_MAX;
  for (;;) {
    least = std::min(least, left_in(root + path, limit, used).value_or(UINT64_MAX));
    if (path.empty() || path == "/") return least;
    path.resize(path.rfind('/'));
  }
}

std::uint64_t left_in_all_groups() {
  return std::min(
      left_in_groups("/sys/fs/cgroup", group_path("0::"), "/memory.max", "/memory.current"),
      left_in_groups("/sys/fs/cgroup/memory", group_path(":memory:"), "/memory.limit_in_bytes",
                     "/memory.usage_in_bytes"));
}

}  // namespace

std::uint64_t memory_room(const std::string& folder) {
  std::uint64_t room = UINT64_MAX;
  struct statvfs info{};
  if (::statvfs(folder.c_str(), &info) == 0) {
    room = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
  }
  room = std::min(room, available_bytes().value_or(UINT64_MAX));
  return std::min(room, left_in_all_groups());
}

}  // namespace headway::replica
