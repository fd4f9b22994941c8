#include "agent/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/leftovers.h"
#include "base/file.h"

namespace headway::agent {
namespace {

constexpr int kRoundsMax = 400;
constexpr int kJanitorRounds = 200;  // then they have had a second
constexpr int kDepthMax = 1000;
constexpr int kRoundWaitMs = 5;  // for a killed process to die; only when one is left

// Parent of every process, zombies left out: they need no killing.
std::unordered_map<pid_t, pid_t> living_parents() {
  std::unordered_map<pid_t, pid_t> parents;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return parents;
  while (const dirent* entry = ::readdir(proc)) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 1) continue;
    const base::UniqueFd file(
        ::open(("/proc/" + std::string(entry->d_name) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
    char text[512] = {};
    if (!file.valid() || ::read(file.get(), text, sizeof(text) - 1) <= 0) continue;
    const char* after_name = std::strrchr(text, ')');  // the name may hold anything
    char state = 0;
    int parent = 0;
    if (after_name == nullptr || std::sscanf(after_name + 1, " %c %d", &state, &parent) != 2) {
      continue;
    }
    if (state != 'Z' && state != 'X') parents.emplace(pid, parent);
  }
  ::closedir(proc);
  return parents;
}

}  // namespace

std::vector<pid_t> Sweep::descendants() const {
  const auto parents = living_parents();
  const pid_t self = ::getpid();
  std::vector<pid_t> found;
  for (const auto& [pid, parent] : parents) {
    pid_t ancestor = pid;
    // A chain of parents is short; the bound only guards against ids reused while we read.
    for (int depth = 0; depth < kDepthMax && ancestor > 1 && ancestor != self; ++depth) {
      if (std::find(spared_.begin(), spared_.end(), ancestor) != spared_.end()) break;
      const auto it = parents.find(ancestor);
      ancestor = it == parents.end() ? 0 : it->second;
    }
    if (ancestor == self && pid != self) found.push_back(pid);
  }
  return found;
}

void Sweep::start() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  spared_ = descendants();
}

void Sweep::reap() const {
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    if (std::find(spared_.begin(), spared_.end(), info.si_pid) != spared_.end()) return;
    ::waitpid(info.si_pid, nullptr, 0);
    info = {};
  }
}

int Sweep::kill_descendants(bool final) const {
  std::vector<pid_t> killed;
  // Again, because a process may have forked between the look and the kill.
  for (int round = 0; round < kRoundsMax; ++round) {
    bool others = false, janitors = false;
    for (const pid_t pid : descendants()) {
      if ((!final || round < kJanitorRounds) && is_janitor(pid)) {
        janitors = true;
        continue;
      }
      others = true;
      ::kill(pid, SIGKILL);
      if (std::find(killed.begin(), killed.end(), pid) == killed.end()) killed.push_back(pid);
    }
    reap();
    if (!others && !(final && janitors)) break;
    ::poll(nullptr, 0, kRoundWaitMs);
  }
  return static_cast<int>(killed.size());
}

}  // namespace headway::agent
