#include "agent/stacks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "agent/spawn.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/start_process.h"

namespace headway::agent {
namespace {

constexpr std::int64_t kTakeMaxNs = 20'000'000'000;
constexpr std::int64_t kAnswerNs = 2'000'000'000;  // for faulthandler to have written
constexpr int kPollMs = 20;

bool is_executable(const std::string& path) {
  return !path.empty() && ::access(path.c_str(), X_OK) == 0;
}

std::string find_py_spy(const std::string& python, const Environment& environment) {
  const std::size_t slash = python.rfind('/');
  if (slash != std::string::npos) {
    std::string beside = python.substr(0, slash) + "/py-spy";
    if (is_executable(beside)) return beside;
  }
  return find_program("py-spy", environment);
}

bool has_content(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

// py-spy into the file; 0: could not be started.
pid_t start_py_spy(const std::string& program, pid_t pid, const std::string& path, bool native) {
  std::vector<std::string> words = {program, "dump", "--pid", fmt::to_string(pid)};
  if (native) words.emplace_back("--native");
  base::ProcessPlan plan{.argv = std::move(words)};
  plan.output = {.path = path, .mode = 0644};
  auto child = base::start_process(plan);
  return child.ok() ? *child : 0;
}

// Waits for all, kills who is late.
void collect(std::vector<pid_t> children, const std::function<void()>& meanwhile) {
  const std::int64_t until_ns = base::monotonic_ns() + kTakeMaxNs;
  while (true) {
    std::erase_if(children, [](pid_t child) {
      return child == 0 || ::waitpid(child, nullptr, WNOHANG) != 0;
    });
    if (children.empty()) return;
    if (base::monotonic_ns() > until_ns) break;
    ::poll(nullptr, 0, kPollMs);
    meanwhile();
  }
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    wait_for_end(child);
  }
}

}  // namespace

int stacks_signal() {
  return SIGRTMIN + 10;
}

std::string stacks_path(const std::string& attempt_dir, int rank) {
  return fmt::format("{}/stacks-{}.txt", attempt_dir, rank);
}

void remove_empty_stacks(const std::string& attempt_dir, int first_rank, int ranks) {
  for (int rank = first_rank; rank < first_rank + ranks; ++rank) {
    const std::string path = stacks_path(attempt_dir, rank);
    if (!has_content(path)) ::unlink(path.c_str());
  }
}

void take_stacks(const std::vector<StackRequest>& ranks, const std::string& attempt_dir,
                 const std::string& python, const Environment& environment,
                 const std::function<void()>& meanwhile) {
  const std::string py_spy = find_py_spy(python, environment);
  // Native frames need debug help that a stripped system may not give: then Python's alone.
  for (const bool native : {true, false}) {
    if (py_spy.empty()) break;
    std::vector<pid_t> children;
    for (const StackRequest& rank : ranks) {
      const std::string path = stacks_path(attempt_dir, rank.rank);
      if (!has_content(path)) children.push_back(start_py_spy(py_spy, rank.pid, path, native));
    }
    collect(std::move(children), meanwhile);
  }
  std::vector<std::string> awaited;
  for (const StackRequest& rank : ranks) {
    std::string path = stacks_path(attempt_dir, rank.rank);
    if (!rank.hooked || has_content(path)) continue;
    ::kill(rank.pid, stacks_signal());
    awaited.push_back(std::move(path));
  }
  const std::int64_t until_ns = base::monotonic_ns() + kAnswerNs;
  while (!std::all_of(awaited.begin(), awaited.end(), has_content)) {
    if (base::monotonic_ns() > until_ns) return;
    ::poll(nullptr, 0, kPollMs);
    meanwhile();
  }
  if (!awaited.empty()) ::poll(nullptr, 0, kPollMs);  // the first line is there: now the rest
}

}  // namespace headway::agent
