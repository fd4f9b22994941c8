#include "base/start_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/check.h"
#include "base/file.h"

extern char** environ;

namespace headway::base {
namespace {

// The two objects that posix_spawn wants, given back whatever happens.
class Actions {
 public:
  Actions() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  ~Actions() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

void add_output(Actions& actions, int number, const ProcessPlan::Output& output) {
  const int flags = O_WRONLY | O_CREAT | (output.append ? O_APPEND : O_TRUNC);
  ::posix_spawn_file_actions_addopen(&actions.files, number, output.path.c_str(), flags,
                                     output.mode);
}

// Of ours it gets none but those: who waits for the end of a pipe, or for a lock, must not wait for
// a process that goes on in the background.
void close_others(Actions& actions, const std::vector<std::pair<int, int>>& named) {
  int end = STDERR_FILENO + 1;
  for (const auto& [ours, theirs] : named) end = std::max(end, theirs + 1);
  for (int number = STDERR_FILENO + 1; number < end; ++number) {
    const bool wanted = std::any_of(named.begin(), named.end(),
                                    [&](const auto& pair) { return pair.second == number; });
    if (!wanted) ::posix_spawn_file_actions_addclose(&actions.files, number);
  }
  ::posix_spawn_file_actions_addclosefrom_np(&actions.files, end);
}

}  // namespace

Result<pid_t> start_process(const ProcessPlan& plan) {
  HW_CHECK(!plan.argv.empty());
  Actions actions;
  ::posix_spawn_file_actions_addopen(&actions.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  add_output(actions, STDOUT_FILENO, plan.output);
  add_output(actions, STDERR_FILENO, plan.errors);
  for (const auto& [ours, theirs] : plan.descriptors) {
    ::posix_spawn_file_actions_adddup2(&actions.files, ours, theirs);
  }
  close_others(actions, plan.descriptors);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&actions.attributes, &none);
  ::posix_spawnattr_setsigdefault(&actions.attributes, &all);
  const int flags =
      POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (plan.own_session ? POSIX_SPAWN_SETSID : 0);
  ::posix_spawnattr_setflags(&actions.attributes, static_cast<short>(flags));
  std::vector<std::string> words = plan.argv;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const char* const program = plan.program.empty() ? argv[0] : plan.program.c_str();
  const int error =
      ::posix_spawnp(&pid, program, &actions.files, &actions.attributes, argv.data(), environ);
  if (error != 0) return errno_status(plan.argv[0], "start", error);
  return pid;
}

}  // namespace headway::base
