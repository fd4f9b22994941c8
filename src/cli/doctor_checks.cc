#include "cli/doctor_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "cli/human.h"

namespace headway::cli {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kFreeBytesProblem =
    64 * kMiB;                                         // less than this does not hold one short run
constexpr std::uint64_t kFreeBytesNote = 1024 * kMiB;  // a journal's default bound
constexpr std::uint64_t kShmBytesNote = 64 * kMiB;     // the default of containers
constexpr std::uint64_t kOpenFilesNote = 1024;
constexpr int kPythonMinorMin = 10;

Finding kernel(const MachineFacts& facts) {
  return {"kernel", Level::ok, fmt::format("Linux {}", facts.kernel), ""};
}

Finding clock(const MachineFacts& facts) {
  if (facts.invariant_tsc) {
    return {"clock", Level::ok,
            fmt::format("invariant tick counter, read directly (kernel clock source {})",
                        facts.clock_source),
            ""};
  }
  return {
      "clock", Level::note,
      fmt::format("no invariant tick counter (kernel clock source {}): each record costs a "
                  "clock_gettime",
                  facts.clock_source),
      "unset HEADWAY_CLOCK if it says monotonic; in a virtual machine, ask for a CPU model with "
      "invtsc"};
}

Finding clock_sync(const MachineFacts& facts) {
  if (facts.clock_synchronised.value_or(false)) {
    return {"clock_sync", Level::ok, "the real-time clock is synchronised", ""};
  }
  return {"clock_sync", Level::note,
          facts.clock_synchronised ? "the kernel says that the real-time clock is not synchronised"
                                   : "cannot tell whether the real-time clock is synchronised",
          "harmless on one machine; run chrony or another NTP client before comparing hosts"};
}

Finding jobs_folder(const JobsFolderFacts& jobs) {
  if (jobs.write_error != 0) {
    return {"jobs_folder", Level::problem,
            fmt::format("cannot write to {}: {}", jobs.path, std::strerror(jobs.write_error)),
            "set HEADWAY_DIR to a folder that you may write to"};
  }
  return {"jobs_folder", Level::ok, fmt::format("{} is writable", jobs.path), ""};
}

Finding file_system(const JobsFolderFacts& jobs) {
  constexpr std::array<std::string_view, 8> kNetwork = {"nfs",  "cifs", "smb2", "lustre",
                                                        "ceph", "9p",   "fuse", "gpfs"};
  const std::string found = fmt::format("{} on {}", jobs.path, jobs.file_system);
  if (jobs.file_system == "tmpfs") {
    return {"file_system", Level::note,
            found + ": journals live in memory and end with the machine",
            "set HEADWAY_DIR to a folder on a disk to keep them"};
  }
  if (jobs.file_system == "overlay") {
    return {"file_system", Level::note, found + ": journals end with the container",
            "set HEADWAY_DIR to a mounted volume to keep them"};
  }
  if (std::find(kNetwork.begin(), kNetwork.end(), jobs.file_system) != kNetwork.end()) {
    return {"file_system", Level::note,
            found + ": a slow server can stall the pages that a journal is mapped from",
            "set HEADWAY_DIR to a folder on a local disk"};
  }
  return {"file_system", Level::ok, found, ""};
}

Finding free_space(const JobsFolderFacts& jobs) {
  const std::string found = fmt::format("{} free for journals", human_bytes(jobs.free_bytes));
  const std::string next = fmt::format(
      "free space under {}, or set HEADWAY_JOURNAL_MAX_BYTES to bound a journal", jobs.path);
  if (jobs.free_bytes < kFreeBytesProblem) return {"free_space", Level::problem, found, next};
  if (jobs.free_bytes < kFreeBytesNote) return {"free_space", Level::note, found, next};
  return {"free_space", Level::ok, found, ""};
}

Finding fallocate_works(const JobsFolderFacts& jobs) {
  if (jobs.fallocate_error == 0) {
    return {"fallocate", Level::ok, "space for a journal can be reserved ahead", ""};
  }
  return {
      "fallocate", Level::note,
      fmt::format("no space can be reserved ahead in {}: {}", jobs.path,
                  std::strerror(jobs.fallocate_error)),
      "set HEADWAY_DIR to a local file system such as ext4 or xfs, where a full disk only drops "
      "records"};
}

Finding shared_memory(const MachineFacts& facts) {
  if (!facts.shm_bytes) {
    return {"shared_memory", Level::note, "there is no /dev/shm",
            "DataLoader workers need it: mount a tmpfs there"};
  }
  const std::string found = fmt::format("/dev/shm holds {}", human_bytes(*facts.shm_bytes));
  if (*facts.shm_bytes <= kShmBytesNote) {
    return {"shared_memory", Level::note, found + ": DataLoader workers may die with a bus error",
            "start the container with a larger --shm-size"};
  }
  return {"shared_memory", Level::ok, found, ""};
}

Finding pidfd(const MachineFacts& facts) {
  if (facts.pidfd_error == 0) return {"pidfd", Level::ok, "pidfd_open works", ""};
  return {"pidfd", Level::problem,
          fmt::format("pidfd_open does not work: {}", std::strerror(facts.pidfd_error)),
          "`headway run` watches ranks by pidfd: use Linux 5.3 or newer and allow the call in the "
          "container's seccomp profile"};
}

Finding ptrace(const MachineFacts& facts) {
  const int scope = facts.ptrace_scope.value_or(0);
  if (scope == 0) return {"ptrace", Level::ok, "a debugger may attach to a hung rank", ""};
  return {"ptrace", Level::note,
          fmt::format("ptrace scope {}: a debugger cannot attach to a rank that hangs", scope),
          "to look into a hang, as root: sysctl kernel.yama.ptrace_scope=0"};
}

Finding memory(const MachineFacts& facts) {
  if (!facts.memory_limit_bytes || *facts.memory_limit_bytes >= facts.memory_bytes) {
    return {"memory", Level::ok,
            fmt::format("{}, no tighter limit", human_bytes(facts.memory_bytes)), ""};
  }
  return {"memory", Level::note,
          fmt::format("limited to {} of {} by the cgroup: a rank that goes over it is killed "
                      "with SIGKILL",
                      human_bytes(*facts.memory_limit_bytes), human_bytes(facts.memory_bytes)),
          "raise the memory limit of the container or job if ranks die with signal 9"};
}

Finding core_dumps(const MachineFacts& facts) {
  const bool piped = facts.core_pattern.starts_with('|');
  if (!piped && facts.core_limit_zero) {
    return {"core_dumps", Level::ok, "off: a crashed rank is gone at once", ""};
  }
  return {"core_dumps", Level::note,
          fmt::format("on ({}): while a core is written the job is down", facts.core_pattern),
          "`ulimit -c 0` where cores are not wanted"};
}

Finding open_files(const MachineFacts& facts) {
  const std::string found = fmt::format("{} files may be open", facts.open_files_max);
  if (facts.open_files_max < kOpenFilesNote) {
    return {"open_files", Level::note, found,
            fmt::format("`ulimit -n {}` before runs with many ranks", 4 * kOpenFilesNote)};
  }
  return {"open_files", Level::ok, found, ""};
}

Finding python_found(const PythonFacts& python) {
  if (!python.error.empty()) {
    return {"python", Level::problem, fmt::format("{}: {}", python.command, python.error),
            "install Python 3.10 or newer, or activate the environment that the trainer uses"};
  }
  const std::string found =
      fmt::format("Python {}.{} ({})", python.major, python.minor, python.executable);
  if (python.major != 3 || python.minor < kPythonMinorMin) {
    return {"python", Level::problem, found + " is too old",
            "activate an environment with Python 3.10 or newer"};
  }
  return {"python", Level::ok, found, ""};
}

Finding torch(const PythonFacts& python) {
  if (!python.error.empty()) return {"torch", Level::note, "not checked: no Python", ""};
  if (python.torch.empty()) {
    return {"torch", Level::note,
            "not installed there: steps, compilation and data waits of PyTorch cannot be seen",
            "activate the trainer's environment, or call headway's functions in the script"};
  }
  return {"torch", Level::ok, fmt::format("torch {}", python.torch), ""};
}

Finding hook(const PythonFacts& python) {
  if (!python.error.empty()) return {"hook", Level::note, "not checked: no Python", ""};
  if (!python.hook_error.empty()) {
    return {"hook", Level::problem,
            fmt::format("the recorder does not load in this Python: {}", python.hook_error),
            "build Headway for it (./dev build inside its environment) or install the wheel there; "
            "until then only the launcher is recorded"};
  }
  return {"hook", Level::ok, "the recorder loads in this Python", ""};
}

}  // namespace

const char* level_name(Level level) {
  switch (level) {
    case Level::ok:
      return "OK";
    case Level::note:
      return "NOTE";
    case Level::problem:
      return "PROBLEM";
  }
  return "";
}

std::vector<Finding> diagnose(const MachineFacts& facts) {
  std::vector<Finding> findings = {kernel(facts), clock(facts), clock_sync(facts),
                                   jobs_folder(facts.jobs)};
  if (facts.jobs.write_error == 0) {  // the rest of the folder is unknown when it cannot be used
    findings.push_back(file_system(facts.jobs));
    findings.push_back(free_space(facts.jobs));
    findings.push_back(fallocate_works(facts.jobs));
  }
  for (Finding& finding :
       std::vector<Finding>{shared_memory(facts), pidfd(facts), ptrace(facts), memory(facts),
                            core_dumps(facts), open_files(facts), python_found(facts.python),
                            torch(facts.python), hook(facts.python)}) {
    findings.push_back(std::move(finding));
  }
  return findings;
}

bool has_problem(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.level == Level::problem; });
}

}  // namespace headway::cli
