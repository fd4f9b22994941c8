#include "cli/report_live.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/job_path.h"
#include "base/pid_namespace.h"

namespace headway::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kParentsMax = 2;  // a journal lies two folders below its job

// The agent's note in its lock: "pid 4711 on node7".
struct Holder {
  std::int64_t pid = 0;
  std::string host;
};

Holder read_holder(int fd) {
  char bytes[512] = {};
  if (base::pread_full(fd, bytes, sizeof(bytes) - 1, 0) <= 0) return {};
  std::istringstream text(bytes);
  std::string pid, on;
  Holder holder;
  text >> pid >> holder.pid >> on >> holder.host;
  return pid == "pid" && on == "on" ? holder : Holder{};
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

// Whether the kernel's table shows the lock; nullopt when there is no table.
std::optional<bool> in_lock_table(const struct stat& file, std::int64_t pid) {
  std::ifstream table("/proc/locks");
  if (!table) return std::nullopt;
  for (std::string line; std::getline(table, line);) {
    if (shows_flock(line, file.st_ino, file.st_dev, pid)) return true;
  }
  return false;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

// "5: FLOCK  ADVISORY  WRITE 4711 08:01:1835031 0 EOF"; the device is major:minor in hexadecimal.
// On some file systems it is not the one that stat() tells, hence the pid.
bool shows_flock(std::string_view line, std::uint64_t inode, std::uint64_t device,
                 std::int64_t pid) {
  std::istringstream words{std::string(line)};
  std::string n, kind, advisory, mode, owner, place;
  if (!(words >> n >> kind >> advisory >> mode >> owner >> place)) return false;
  if (kind != "FLOCK" || mode != "WRITE") return false;
  const std::size_t first = place.find(':');
  const std::size_t second = place.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return false;
  const std::string_view text = place;
  if (number(text.substr(second + 1), 10) != inode) return false;
  const auto major = number(text.substr(0, first), 16);
  const auto minor = number(text.substr(first + 1, second - first - 1), 16);
  const bool same_device =
      major && minor && *major == gnu_dev_major(device) && *minor == gnu_dev_minor(device);
  return same_device || (pid > 0 && owner == fmt::format("{}", pid));
}

namespace {

// Of the job, and on several nodes of each: "agent.lock", "agent-node7.lock". A node that does not
// coordinate, with a folder of its own, has the latter only.
std::vector<std::string> locks_in(const fs::path& folder) {
  std::vector<std::string> locks;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("agent") && name.ends_with(".lock")) locks.push_back(it->path().string());
  }
  return locks;
}

bool is_held(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat file{};
  if (!fd.valid() || ::fstat(fd.get(), &file) != 0) return false;
  const Holder holder = read_holder(fd.get());
  const std::optional<bool> seen = in_lock_table(file, holder.pid);
  if (seen == true) return true;
  // In a container the table does not show the locks of those outside.
  const bool sees_all = base::pid_namespace() == base::initial_pid_namespace;
  if (seen == false && sees_all && holder.host == host_name()) return false;
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(fd.get(), LOCK_UN);
  return false;
}

}  // namespace

bool job_is_alive(const std::string& folder) {
  const std::vector<std::string> locks = locks_in(folder);
  return std::any_of(locks.begin(), locks.end(), is_held);
}

std::string place_of(const std::string& input, const std::string& dir) {
  const auto root = base::jobs_root(dir);
  if (root.ok() && base::is_job_name(input)) {
    std::string folder = base::job_dir(root.value(), input);
    if (::access(folder.c_str(), F_OK) == 0) return folder;
  }
  return input;
}

std::string folder_of_job(const std::string& path, const std::string& job) {
  if (path == "-" || !base::is_job_name(job)) return "";
  std::error_code error;
  const fs::path full = fs::canonical(path, error);
  if (error) return "";
  fs::path at = full;
  int parents = 0;
  if (fs::is_directory(full, error)) {
    if (!locks_in(full / job).empty()) return (full / job).string();
  } else {
    if (full.extension() != base::kJournalSuffix) return "";
    at = full.parent_path();
    parents = 1;
  }
  for (; parents <= kParentsMax; ++parents, at = at.parent_path()) {
    if (at.filename() == job && !locks_in(at).empty()) return at.string();
  }
  return "";
}

bool has_newest_attempt(const event::JobStreams& streams, const std::string& folder) {
  std::uint64_t newest = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (const auto id = number(it->path().filename().string(), 10)) newest = std::max(newest, *id);
  }
  return std::any_of(streams.streams.begin(), streams.streams.end(), [&](const event::Stream& s) {
    return s.info.attempt >= 0 && static_cast<std::uint64_t>(s.info.attempt) >= newest;
  });
}

std::optional<std::int64_t> now_if_running(const event::JobStreams& streams,
                                           const std::string& folder) {
  if (folder.empty() || !has_newest_attempt(streams, folder) || !job_is_alive(folder)) return {};
  return base::real_ns();
}

}  // namespace headway::cli
