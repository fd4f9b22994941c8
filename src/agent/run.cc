#include "agent/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>

#include "agent/aftermath.h"
#include "agent/attempt_context.h"
#include "agent/console.h"
#include "agent/exit_code.h"
#include "agent/guard.h"
#include "agent/job_folder.h"
#include "agent/kubernetes.h"
#include "agent/leftovers.h"
#include "agent/port.h"
#include "agent/python_layout.h"
#include "agent/rank_progress.h"
#include "agent/signals.h"
#include "agent/slurm_scheduler.h"
#include "agent/supervisor.h"
#include "agent/sweep.h"
#include "agent/warm_start.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/job_path.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

using base::Code;
using base::Result;
using base::Status;

// A rank would take 1 ms by itself; this once costs less than it saves in precision.
constexpr std::int64_t kCalibrateNs = 10'000'000;

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

std::string board_path(const std::string& attempt_dir) {
  return attempt_dir + "/board";
}

bool has_terminal() {
  return ::isatty(STDIN_FILENO) == 1 || ::isatty(STDOUT_FILENO) == 1 ||
         ::isatty(STDERR_FILENO) == 1;
}

int start_failure_code(const Status& status, CommandKind kind) {
  if (kind != CommandKind::program) return kExitAgentFault;
  if (status.code() == Code::not_found) return kExitNotFound;
  return status.code() == Code::unsupported ? kExitNotExecutable : kExitAgentFault;
}

class JobRun {
 public:
  JobRun(const RunOptions& options, Environment environment, std::vector<std::string> argv,
         std::int64_t began_monotonic_ns)
      : options_(options),
        environment_(std::move(environment)),
        argv_(std::move(argv)),
        began_ns_(began_monotonic_ns),
        slurm_(slurm_info(environment_)),
        pod_(pod_info(environment_)),
        console_(options.quiet),
        own_groups_(options.nproc > 1 || !has_terminal()),
        warm_(options, own_groups_, signals_, sweep_),
        aftermath_(options) {}

  int run();

 private:
  [[nodiscard]] bool scheduled() const { return slurm_.has_value() || pod_.has_value(); }
  Status open_folder();
  void anchor_clock();
  Result<AttemptResult> run_attempt(int restarts);
  AttemptContext open_attempt(int restarts);
  void follow_launcher();
  void take_slurm_times(std::int64_t wait_ns);
  SpawnPlan plan_process(const AttemptContext& attempt, int rank) const;
  void tell_end(const Outcome& outcome, const RestartDecision& decision);
  bool wait_before_restart(std::int64_t delay_ns);
  void tell_job(bool failed);

  const RunOptions& options_;
  const Environment environment_;
  const std::vector<std::string> argv_;
  const std::int64_t began_ns_;
  std::optional<SlurmInfo> slurm_;
  const std::optional<PodInfo> pod_;
  Console console_;
  const bool own_groups_;
  const std::string run_id_ = make_run_id();
  Guard guard_;
  Sweep sweep_;
  Signals signals_;
  std::optional<SlurmScheduler> scheduler_;
  bool slurm_times_known_ = false;
  WarmStart warm_;
  Aftermath aftermath_;
  RankProgress progress_;
  AgentJournal journal_;
  std::optional<JobFolder> folder_;  // none: unmeasured
  AttemptId attempt_;                // whose journal is open
  std::vector<std::string> hook_;
  std::string anchor_;
  std::uint64_t tsc_hz_ = 0;
  bool warned_ = false;
};

// Code::invalid_input: the job must not start. Anything else was told and only ends the measuring.
Status JobRun::open_folder() {
  const std::string* disabled = find_variable(environment_, "HEADWAY_DISABLE");
  if (disabled != nullptr && !disabled->empty() && *disabled != "0") return {};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  const Result<std::string> root = state_root(options_);
  Result<JobFolder> folder = root.ok()
                                 ? JobFolder::open(root.value(), options_, slurm_, local, run_id_)
                                 : Result<JobFolder>(root.status());
  if (!folder.ok()) {
    if (folder.status().code() == Code::invalid_input) return folder.status();
    console_.warn(folder.status().message() + "; running unmeasured (choose a folder with --dir)");
    return {};
  }
  folder_ = std::move(*folder);
  const int left = kill_marked(folder_->previous_run());
  if (left > 0) {
    console_.note(fmt::format("ended {} process{} that an earlier agent of this job had left", left,
                              left == 1 ? "" : "es"));
  }
  anchor_clock();
  hook_ = find_hook(own_binary(), environment_);
  if (hook_.empty()) {
    console_.warn(
        "the Python hook was not found; measuring from outside only (set HEADWAY_PYTHON_DIR)");
  }
  return {};
}

// One tie of the clocks for all journals of this run, our own included.
void JobRun::anchor_clock() {
  anchor_ = base::to_text(base::take_real_anchor());
  ::setenv("HEADWAY_ANCHOR", anchor_.c_str(), 1);
  const base::TickClock clock = base::calibrate_tick_clock(kCalibrateNs);
  if (clock.kind != base::TickKind::tsc) return;
  tsc_hz_ = clock.hz;
  ::setenv("HEADWAY_TSC_HZ", fmt::to_string(tsc_hz_).c_str(), 1);
}

AttemptContext JobRun::open_attempt(int restarts) {
  AttemptContext attempt;
  attempt.restarts = restarts;
  if (!folder_) return attempt;
  AttemptId id = folder_->first_attempt();
  if (restarts > 0) id.launch = folder_->newest_attempt(attempt_).launch + 1;
  attempt_ = id;
  Result<std::string> dir = folder_->make_attempt(id);
  Status status = dir.status();
  if (status.ok()) {
    attempt.dir = *dir;
    attempt.measurement =
        Measurement{folder_->root(), folder_->job(), id.value(), anchor_, tsc_hz_, hook_};
    status = journal_.open(attempt.dir, folder_->job(), id.value(), options_.nproc);
  }
  if (!status.ok()) {
    if (!warned_) console_.warn(status.message() + "; going on without it");
    warned_ = true;
    return attempt;
  }
  take_slurm_times(SlurmScheduler::launch_wait_ns);
  write_opening(journal_, options_, slurm_, id, restarts == 0 ? began_ns_ : base::monotonic_ns());
  return attempt;
}

// The controller knows since when the job waited; the environment at best when it started.
void JobRun::take_slurm_times(std::int64_t wait_ns) {
  if (!scheduler_ || slurm_times_known_) return;
  const std::optional<SlurmTimes> times = scheduler_->times(wait_ns);
  if (!times) return;
  slurm_times_known_ = true;
  slurm_->submit_time_s = times->submitted_s.value_or(0);
  slurm_->start_time_s = times->allocated_s.value_or(slurm_->start_time_s);
}

// A launcher that we run (torchrun --max-restarts) makes attempts by itself. What we have to say
// later, of its end, belongs to the last of them.
void JobRun::follow_launcher() {
  if (!folder_ || options_.has_ranks()) return;
  const AttemptId newest = folder_->newest_attempt(attempt_);
  if (newest.launch == attempt_.launch) return;
  attempt_ = newest;
  journal_.close();
  const Status status =
      journal_.open(folder_->attempt_path(newest), folder_->job(), newest.value(), options_.nproc);
  if (!status.ok()) console_.warn(status.message() + "; going on without it");
}

SpawnPlan JobRun::plan_process(const AttemptContext& attempt, int rank) const {
  SpawnPlan plan;
  plan.argv = argv_;
  plan.capture_output = options_.nproc > 1;
  plan.own_process_group = own_groups_;
  RankIdentity identity;
  identity.rank = rank;
  identity.nproc = options_.nproc;
  identity.restart_count = attempt.restarts;
  identity.restarts_max = options_.restarts.count;
  identity.run_id = folder_ ? folder_->job() : "none";
  identity.master_addr = "127.0.0.1";
  identity.master_port = attempt.port.port;
  if (!attempt.dir.empty()) {
    identity.error_file = base::error_file_path(attempt.dir, static_cast<std::uint32_t>(rank));
  }
  plan.environment = process_environment(environment_, options_.has_ranks() ? &identity : nullptr,
                                         attempt.measurement ? &*attempt.measurement : nullptr,
                                         options_.kind != CommandKind::program);
  plan.environment.insert_or_assign(std::string(kRunVariable), run_id_);
  if (!attempt.dir.empty()) keep_flight_recorder(plan.environment, attempt.dir);
  if (attempt.board.valid()) {
    plan.environment.insert_or_assign("HEADWAY_BOARD", board_path(attempt.dir));
  }
  return plan;
}

Result<AttemptResult> JobRun::run_attempt(int restarts) {
  AttemptContext attempt = open_attempt(restarts);
  aftermath_.begin_attempt();
  if (attempt.measurement && options_.has_ranks()) {
    auto board = record::Board::create(board_path(attempt.dir), options_.nproc);
    if (board.ok()) attempt.board = std::move(*board);
  }
  progress_.open(attempt.dir, options_.has_ranks() ? options_.nproc : 0);
  if (options_.has_ranks()) {
    Result<ReservedPort> port = reserve_port();
    if (!port.ok()) return port.status();
    attempt.port = std::move(*port);
  }
  AttemptPlan plan;
  plan.nproc = options_.nproc;
  plan.grace_ns = options_.grace_ns;
  plan.own_process_groups = own_groups_;
  plan.under_scheduler = scheduled();
  plan.scheduler = scheduler_ ? &*scheduler_ : nullptr;
  plan.has_ranks = options_.has_ranks();
  plan.dir = attempt.dir;
  plan.process = [this, &attempt](int rank) { return plan_process(attempt, rank); };
  plan.before_mark = [this] { follow_launcher(); };
  plan.hang = options_.hang;
  if (attempt.board.valid()) plan.board = &attempt.board;
  if (attempt.measurement && options_.has_ranks()) plan.progress = &progress_;
  plan.started = [this] { aftermath_.when_idle(); };
  if (attempt.measurement && !hook_.empty()) {
    warm_.prepare(plan.process(0), folder_->root());
    plan.server = warm_.server();
    plan.plain_reason = warm_.reason();
    plan.server_gone = [this, &plan] { warm_.start_again(plan.process(0)); };
  }
  Result<AttemptResult> result =
      Supervisor(plan, signals_, console_, journal_, guard_, sweep_).run();
  if (slurm_ && !slurm_times_known_ && attempt_.launch == 1) {  // an answer that came late
    take_slurm_times(0);
    if (slurm_times_known_) write_allocation(journal_, *slurm_, began_ns_);
  }
  if (!result.ok()) {
    // Nothing ran: the job's record must not look like a clean end.
    const RankEnd end{start_failure_code(result.status(), options_.kind), 0};
    journal_.failure(0, end, HW_ORIGIN_USER);
    journal_.exit(0, end, HW_ORIGIN_USER);
  }
  return result;
}

void JobRun::tell_end(const Outcome& outcome, const RestartDecision& decision) {
  const std::string who =
      options_.has_ranks() ? fmt::format("rank {}", *outcome.failed_rank) : argv_.front();
  std::string text =
      fmt::format("{} {}", who, outcome.hung ? "hangs" : describe_end(outcome.failed_end));
  if (!aftermath_.cause().empty()) text += fmt::format(" ({})", aftermath_.cause());
  if (decision.restart) {
    text += fmt::format("; restarting ({} of {})", aftermath_.restarts(), options_.restarts.count);
    if (decision.delay_ns > 0) {
      text += fmt::format(" in {:.1f} s", static_cast<double>(decision.delay_ns) / 1e9);
    }
  } else if (!decision.why_not.empty()) {
    text += "; " + decision.why_not;
  }
  console_.note(text);
}

// False: somebody asked us to stop meanwhile.
bool JobRun::wait_before_restart(std::int64_t delay_ns) {
  const std::int64_t until_ns = base::monotonic_ns() + delay_ns;
  while (true) {
    const std::int64_t left_ns = until_ns - base::monotonic_ns();
    if (left_ns <= 0) return true;
    pollfd ready{signals_.fd(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(left_ns / 1'000'000 + 1));
    while (const auto signal = signals_.next()) {
      if (is_stop_signal(signal->number)) return false;
    }
  }
}

void JobRun::tell_job(bool failed) {
  if (!folder_) return;
  const std::uint64_t attempts = attempt_.launch - folder_->first_attempt().launch + 1;
  const std::uint64_t failures = attempts - 1 + (failed ? 1 : 0);
  // A line to paste: the folder is named if it was named to us.
  const std::string where = options_.dir.empty() ? "" : fmt::format(" --dir '{}'", options_.dir);
  console_.note(fmt::format("job {}: {} attempt{}, {} failure{} · headway report {}{}",
                            folder_->job(), attempts, attempts == 1 ? "" : "s", failures,
                            failures == 1 ? "" : "s", folder_->job(), where));
}

int JobRun::run() {
  guard_.start(run_id_);
  sweep_.start();
  Status status = signals_.start(own_groups_);
  if (!status.ok()) return fail_with(kExitAgentFault, status.message());
  if (slurm_) scheduler_.emplace(*slurm_, environment_, signals_, options_.requeue).ask_times();
  status = open_folder();
  if (!status.ok()) return fail_with(kExitUsage, status.message());
  for (int restarts = 0;; ++restarts) {
    const std::int64_t began_ns = base::monotonic_ns();
    Result<AttemptResult> result = run_attempt(restarts);
    if (!result.ok()) {
      journal_.mark(HW_MARK_JOB_END);
      journal_.close();
      console_.warn(result.status().message());
      return start_failure_code(result.status(), options_.kind);
    }
    const Outcome outcome = result->outcome;
    RestartDecision decision;
    if (outcome.failed()) {
      progress_.look();
      if (outcome.stop_signal == 0) {
        decision = aftermath_.consider(std::move(*result), progress_,
                                       base::monotonic_ns() - began_ns, journal_);
      }
      tell_end(outcome, decision);
      if (decision.delay_ns > 0) decision.restart = wait_before_restart(decision.delay_ns);
    }
    const StopCause cause = scheduler_ ? scheduler_->cause() : StopCause::unknown;
    const Verdict verdict = after_stop(judge(outcome, decision.restart, scheduled()), outcome,
                                       scheduled(), cause, options_.requeue);
    if (verdict.job_ends) journal_.mark(HW_MARK_JOB_END);
    journal_.close();
    if (verdict.restart) continue;
    aftermath_.when_idle();
    sweep_.kill_descendants(true);
    tell_job(outcome.failed());
    if (scheduler_) scheduler_->come_back(console_, signals_);
    return verdict.exit_code;
  }
}

// Every start of a pod is a new allocation of one job, which has one name.
int run_in_pod(RunOptions options, const PodInfo& pod, Environment environment,
               std::vector<std::string> argv, std::int64_t began_monotonic_ns) {
  if (options.job.empty()) options.job = default_pod_job_name(command_name(options), pod);
  for (auto& attr : pod_attrs(pod)) {
    if (options.attrs.size() < kAttrsMax) options.attrs.push_back(std::move(attr));
  }
  if (const auto warning = shm_warning(read_pod_memory(), options.nproc)) {
    Console(options.quiet).warn(*warning);
  }
  JobRun job(options, environment, std::move(argv), began_monotonic_ns);
  const int code = job.run();
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
  std::vector<std::string> argv;
  if (const auto code = resolve_command(options, environment, argv)) return *code;
  if (const auto pod = pod_info(environment)) {
    return run_in_pod(options, *pod, std::move(environment), std::move(argv), began_monotonic_ns);
  }
  return JobRun(options, std::move(environment), std::move(argv), began_monotonic_ns).run();
}

}  // namespace headway::agent
