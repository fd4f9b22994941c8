#include "cli/doctor_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "cli/doctor_python.h"

namespace headway::cli {
namespace {

constexpr off_t kTrialBytes = 1 << 20;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || text.empty()) return std::nullopt;
  return value;
}

std::string file_system_name(std::uint64_t magic) {
  constexpr std::pair<std::uint64_t, const char*> kNames[] = {
      {0xEF53, "ext4"},         {0x58465342, "xfs"},  {0x9123683E, "btrfs"}, {0x01021994, "tmpfs"},
      {0x794C7630, "overlay"},  {0x6969, "nfs"},      {0xFF534D42, "cifs"},  {0xFE534D42, "smb2"},
      {0x0BD00BD0, "lustre"},   {0x00C36400, "ceph"}, {0x01021997, "9p"},    {0x65735546, "fuse"},
      {0x47504653, "gpfs"},     {0x2FC12FC1, "zfs"},  {0xF2F52010, "f2fs"},  {0x858458F6, "ramfs"},
      {0x6A656A63, "virtiofs"},
  };
  for (const auto& [known, name] : kNames) {
    if (known == magic) return name;
  }
  return fmt::format("{:#x}", magic);
}

JobsFolderFacts probe_jobs_folder(const std::string& dir) {
  JobsFolderFacts facts;
  facts.path = dir;
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) {
    facts.write_error = error.value();
    return facts;
  }
  std::string trial = dir + "/.doctor-XXXXXX";
  const int fd = ::mkstemp(trial.data());
  if (fd < 0) {
    facts.write_error = errno;
    return facts;
  }
  if (::fallocate(fd, 0, 0, kTrialBytes) != 0) facts.fallocate_error = errno;
  ::close(fd);
  ::unlink(trial.c_str());
  struct statfs fs{};
  if (::statfs(dir.c_str(), &fs) == 0) {
    facts.file_system = file_system_name(static_cast<std::uint64_t>(fs.f_type) & 0xFFFFFFFFu);
    facts.free_bytes =
        static_cast<std::uint64_t>(fs.f_bavail) * static_cast<std::uint64_t>(fs.f_bsize);
  }
  return facts;
}

Errno try_pidfd() {
  const long fd = ::syscall(SYS_pidfd_open, ::getpid(), 0);
  if (fd < 0) return errno;
  ::close(static_cast<int>(fd));
  return 0;
}

// The tightest limit from this process's cgroup up to the root, of version 2 or 1.
std::optional<std::uint64_t> cgroup_memory_limit() {
  std::ifstream file("/proc/self/cgroup");
  std::optional<std::uint64_t> tightest;
  for (std::string line; std::getline(file, line);) {
    const bool v2 = line.starts_with("0::");
    const std::size_t v1 = line.find(":memory:");
    if (!v2 && v1 == std::string::npos) continue;
    const std::string base = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* leaf = v2 ? "memory.max" : "memory.limit_in_bytes";
    std::filesystem::path group = line.substr(v2 ? 3 : v1 + 8);
    for (;; group = group.parent_path()) {
      const auto limit = number(first_line(base + group.string() + "/" + leaf));
      if (limit && (!tightest || *limit < *tightest)) tightest = limit;
      if (group == "/" || !group.has_relative_path()) break;
    }
  }
  return tightest;
}

std::optional<bool> clock_is_synchronised() {
  timex request{};
  const int state = ::adjtimex(&request);
  if (state < 0) return std::nullopt;
  return state != TIME_ERROR && (request.status & STA_UNSYNC) == 0;
}

void probe_limits(MachineFacts& facts) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.open_files_max = limit.rlim_cur;
  if (::getrlimit(RLIMIT_CORE, &limit) == 0) facts.core_limit_zero = limit.rlim_cur == 0;
  facts.core_pattern = first_line("/proc/sys/kernel/core_pattern");
  if (const auto scope = number(first_line("/proc/sys/kernel/yama/ptrace_scope"))) {
    facts.ptrace_scope = static_cast<int>(*scope);
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  facts.memory_bytes = static_cast<std::uint64_t>(std::max(pages, 0L)) *
                       static_cast<std::uint64_t>(std::max(page_bytes, 0L));
  facts.memory_limit_bytes = cgroup_memory_limit();
}

}  // namespace

MachineFacts probe_machine(const std::string& jobs_dir) {
  MachineFacts facts;
  utsname name{};
  if (::uname(&name) == 0) {
    facts.kernel = fmt::format("{} {}", name.release, name.machine);
  }
  facts.invariant_tsc = base::tsc_is_invariant();
  facts.clock_source =
      first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.jobs = probe_jobs_folder(jobs_dir);
  struct statfs shm{};
  if (::statfs("/dev/shm", &shm) == 0) {
    facts.shm_bytes =
        static_cast<std::uint64_t>(shm.f_blocks) * static_cast<std::uint64_t>(shm.f_bsize);
  }
  facts.pidfd_error = try_pidfd();
  facts.clock_synchronised = clock_is_synchronised();
  probe_limits(facts);
  facts.python = probe_python();
  return facts;
}

}  // namespace headway::cli
