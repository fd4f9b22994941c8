#include "agent/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "agent/attempt_runner.h"
#include "agent/exit_code.h"
#include "agent/kubernetes.h"
#include "agent/local_address.h"
#include "agent/node_run.h"
#include "agent/own_verdict.h"
#include "agent/python_layout.h"
#include "base/clock.h"

namespace headway::agent {
namespace {

using base::Code;
using base::Result;
using base::Status;

// Descriptors 0–2 must exist, or a pipe of ours would become somebody's stdout.
void fill_standard_fds() {
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::dup(fd);
  if (fd > STDERR_FILENO) ::close(fd);
}

int fail_with(int code, const std::string& message) {
  std::fprintf(stderr, "headway: %s\n", message.c_str());
  return code;
}

// argv of every process, or an exit code with the reason already told.
std::optional<int> resolve_command(const RunOptions& options, const Environment& environment,
                                   std::vector<std::string>& argv) {
  argv = options.command;
  if (options.kind == CommandKind::program) {
    if (find_program(argv.front(), environment).empty()) {
      return fail_with(kExitNotFound, argv.front() + ": command not found");
    }
    return std::nullopt;
  }
  std::error_code error;
  if (options.kind == CommandKind::script && !std::filesystem::exists(argv.front(), error)) {
    return fail_with(kExitUsage,
                     fmt::format("{}: no such script (for another program: headway run -- {} …)",
                                 argv.front(), argv.front()));
  }
  const Interpreter python = find_interpreter(options, environment);
  if (python.path.empty()) {
    return fail_with(
        kExitAgentFault,
        fmt::format("{}: no such Python interpreter; choose one with --python", python.tried));
  }
  if (options.kind == CommandKind::module) argv.insert(argv.begin(), "-m");
  argv.insert(argv.begin(), python.path);
  return std::nullopt;
}

// Attempt after attempt on this machine, until one is the last.
class JobRun {
 public:
  JobRun(const RunOptions& options, Environment environment, std::vector<std::string> argv,
         std::int64_t began_monotonic_ns)
      : options_(options),
        runner_(options, std::move(environment), std::move(argv), began_monotonic_ns, {}) {}

  int run();

 private:
  void tell_end(const Outcome& outcome, const RestartDecision& decision);
  bool wait_before_restart(std::int64_t delay_ns);

  const RunOptions& options_;
  AttemptRunner runner_;
};

void JobRun::tell_end(const Outcome& outcome, const RestartDecision& decision) {
  const Aftermath& aftermath = runner_.aftermath();
  std::string text = fmt::format("{} {}", runner_.name_of(*outcome.failed_rank),
                                 outcome.hung ? "hangs" : describe_end(outcome.failed_end));
  if (!aftermath.cause().empty()) text += fmt::format(" ({})", aftermath.cause());
  text += describe(decision, aftermath.restarts(), options_.restarts.count);
  runner_.console().note(text);
}

// False: somebody asked us to stop meanwhile.
bool JobRun::wait_before_restart(std::int64_t delay_ns) {
  const std::int64_t until_ns = base::monotonic_ns() + delay_ns;
  while (true) {
    const std::int64_t left_ns = until_ns - base::monotonic_ns();
    if (left_ns <= 0) return true;
    pollfd ready{runner_.signals().fd(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(left_ns / 1'000'000 + 1));
    while (const auto signal = runner_.signals().next()) {
      if (is_stop_signal(signal->number)) return false;
    }
  }
}

int JobRun::run() {
  const Status status = runner_.start();
  if (!status.ok()) {
    return fail_with(status.code() == Code::invalid_input ? kExitUsage : kExitAgentFault,
                     status.message());
  }
  for (int restarts = 0;; ++restarts) {
    const std::int64_t began_ns = base::monotonic_ns();
    Result<AttemptResult> result = runner_.run(restarts);
    if (!result.ok()) {
      runner_.close_journal(true);
      runner_.console().warn(result.status().message());
      return runner_.start_failure_code(result.status());
    }
    const Outcome outcome = result->outcome;
    RestartDecision decision;
    if (outcome.failed()) {
      runner_.progress().look();
      if (outcome.stop_signal == 0) {
        decision = runner_.aftermath().consider(std::move(*result), runner_.progress(),
                                                base::monotonic_ns() - began_ns, runner_.journal());
      } else if (!runner_.scheduled()) {  // else the scheduler knows why
        const failure::Verdict stopped = stopped_verdict(outcome.stop_signal);
        runner_.aftermath().keep(std::move(result->remains), stopped,
                                 "not restarted: asked to end");
      }
      tell_end(outcome, decision);
      const bool own_error = outcome.stop_signal == 0 && outcome.failed_end.signal == 0;
      if (own_error && runner_.auto_dynamic().blame(runner_.journal())) decision.restart = true;
      if (decision.delay_ns > 0) decision.restart = wait_before_restart(decision.delay_ns);
    }
    const bool scheduled = runner_.scheduled();
    const Verdict verdict = after_stop(judge(outcome, decision.restart, scheduled), outcome,
                                       scheduled, runner_.stop_cause(), options_.requeue);
    runner_.close_journal(verdict.job_ends);
    if (verdict.restart) continue;
    runner_.end(outcome.failed());
    runner_.come_back();
    return verdict.exit_code;
  }
}

// On this machine alone, or as one of several.
int run_here(const RunOptions& options, Environment environment, std::vector<std::string> argv,
             std::int64_t began_monotonic_ns) {
  const auto plan = plan_node(options.nodes, slurm_info(environment), !options.job.empty(),
                              machine_name(), is_local_address);
  if (!plan.ok()) return fail_with(kExitUsage, plan.status().message());
  if (plan.value()) {
    return run_node(options, *plan.value(), std::move(environment), std::move(argv),
                    began_monotonic_ns);
  }
  return JobRun(options, std::move(environment), std::move(argv), began_monotonic_ns).run();
}

// Every start of a pod is a new allocation of one job, which has one name.
int run_in_pod(RunOptions options, const PodInfo& pod, Environment environment,
               std::vector<std::string> argv, std::int64_t began_monotonic_ns) {
  options.nodes = pod_nodes(options.nodes, pod, !options.job.empty());
  const bool wired = options.nodes.count && options.nodes.count->max > 1;
  if (options.job.empty()) options.job = default_pod_job_name(command_name(options), pod, wired);
  for (auto& attr : pod_attrs(pod)) {
    if (options.attrs.size() < kAttrsMax) options.attrs.push_back(std::move(attr));
  }
  if (const auto warning = shm_warning(read_pod_memory(), options.nproc)) {
    Console(options.quiet).warn(*warning);
  }
  const int code = run_here(options, environment, std::move(argv), began_monotonic_ns);
  write_termination_message(environment, classify_exit(code),
                            fmt::format("job {}, exit code {}", options.job, code));
  return code;
}

}  // namespace

int run_job(const RunOptions& options, std::int64_t began_monotonic_ns) {
  fill_standard_fds();
  const Status checked = check_options(options);
  if (!checked.ok()) return fail_with(kExitUsage, checked.message());
  Environment environment = read_environment(environ);
  use_autotune_pins(environment, options.autotune_pins);
  if (const Status pins = drop_unreadable_pins(environment); !pins.ok()) {
    Console(options.quiet).warn("--autotune-pins " + pins.message() + "; tuning in full");
  }
  std::vector<std::string> argv;
  if (const auto code = resolve_command(options, environment, argv)) return *code;
  if (const auto pod = pod_info(environment)) {
    return run_in_pod(options, *pod, std::move(environment), std::move(argv), began_monotonic_ns);
  }
  return run_here(options, std::move(environment), std::move(argv), began_monotonic_ns);
}

}  // namespace headway::agent
