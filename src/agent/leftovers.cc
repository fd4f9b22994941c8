#include "agent/leftovers.h"

#include <dirent.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>

#include "base/file.h"

namespace headway::agent {
namespace {

constexpr std::size_t kProcBytesMax = 64 << 20;  // far above what exec takes
constexpr int kRoundsMax = 100;
constexpr int kJanitorRounds = 50;  // of kRoundWaitMs: time for janitors to do their work
constexpr int kRoundWaitMs = 20;

// "": it is gone, or not ours to look at.
std::string read_proc(pid_t pid, const char* name) {
  auto text = base::read_file(fmt::format("/proc/{}/{}", pid, name), kProcBytesMax);
  return text.ok() ? std::move(*text) : std::string();
}

bool carries(pid_t pid, const std::string& mark) {
  const std::string environment = read_proc(pid, "environ");
  for (std::size_t at = environment.find(mark); at != std::string::npos;
       at = environment.find(mark, at + 1)) {
    const std::size_t end = at + mark.size();
    if ((at == 0 || environment[at - 1] == '\0') &&
        (end == environment.size() || environment[end] == '\0')) {
      return true;
    }
  }
  return false;
}

std::vector<pid_t> marked(const std::string& mark) {
  std::vector<pid_t> found;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return found;
  while (const dirent* entry = ::readdir(proc)) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid > 1 && pid != ::getpid() && carries(pid, mark)) found.push_back(pid);
  }
  ::closedir(proc);
  return found;
}

}  // namespace

std::string make_run_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

bool is_janitor(pid_t pid) {
  const std::string command = read_proc(pid, "cmdline");
  return command.find("multiprocessing.resource_tracker") != std::string::npos ||
         command.find("torch_shm_manager") != std::string::npos;
}

int kill_marked(std::string_view run_id) {
  if (run_id.empty()) return 0;
  const std::string mark = fmt::format("{}={}", kRunVariable, run_id);
  std::vector<pid_t> killed;
  for (int round = 0; round < kRoundsMax; ++round) {
    const std::vector<pid_t> living = marked(mark);
    if (living.empty()) break;
    for (const pid_t pid : living) {
      if (round < kJanitorRounds && is_janitor(pid)) continue;
      ::kill(pid, SIGKILL);
      if (std::find(killed.begin(), killed.end(), pid) == killed.end()) killed.push_back(pid);
    }
    ::poll(nullptr, 0, kRoundWaitMs);
  }
  return static_cast<int>(killed.size());
}

}  // namespace headway::agent
