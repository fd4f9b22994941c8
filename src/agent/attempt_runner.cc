#include "agent/attempt_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include "agent/python_layout.h"
#include "base/clock.h"
#include "base/job_path.h"
#include "base/plural.h"
#include "cache/cpu.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

using base::Code;
using base::Result;
using base::Status;

// A rank would take 1 ms by itself; this once costs less than it saves in precision.
constexpr std::int64_t kCalibrateNs = 10'000'000;
constexpr std::int64_t kFirstSteps = 2;  // after which most of what is compiled is

bool has_terminal() {
  return ::isatty(STDIN_FILENO) == 1 || ::isatty(STDOUT_FILENO) == 1 ||
         ::isatty(STDERR_FILENO) == 1;
}

// Nodes may share the folder, but not the board.
std::string board_path(const std::string& attempt_dir, const std::string& node) {
  if (node.empty()) return attempt_dir + "/board";
  return fmt::format("{}/board-{}", attempt_dir, base::sanitize_job_name(node));
}

// A program that crashes by its own doing may have written into what it shares with others.
bool may_have_damaged_memory(const std::vector<EndedRank>& ends) {
  return std::any_of(ends.begin(), ends.end(), [](const EndedRank& ended) {
    const int signal = ended.end.signal;
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGILL ||
           signal == SIGFPE;
  });
}

}  // namespace

AttemptRunner::AttemptRunner(const RunOptions& options, Environment environment,
                             std::vector<std::string> argv, std::int64_t began_monotonic_ns,
                             std::optional<NodeSeat> node)
    : options_(options),
      environment_(std::move(environment)),
      argv_(std::move(argv)),
      began_ns_(began_monotonic_ns),
      node_(std::move(node)),
      slurm_(slurm_info(environment_)),
      pod_(pod_info(environment_)),
      console_(options.quiet),
      auto_dynamic_(options, environment_, console_),
      own_groups_(many() || !has_terminal()),
      warm_(options, own_groups_, signals_, sweep_),
      aftermath_(options),
      cache_(console_, signals_, sweep_),
      ship_(console_, sweep_) {}

Status AttemptRunner::start() {
  guard_.start(run_id_);
  sweep_.start();
  Status status = signals_.start(own_groups_);
  if (!status.ok()) return status;
  if (slurm_) scheduler_.emplace(*slurm_, environment_, signals_, options_.requeue).ask_times();
  status = open_folder();
  if (status.ok()) open_cache();
  return status;
}

// Code::invalid_input: the job must not start. Anything else was told and only ends the measuring.
Status AttemptRunner::open_folder() {
  const std::string* disabled = find_variable(environment_, "HEADWAY_DISABLE");
  if (disabled != nullptr && !disabled->empty() && *disabled != "0") return {};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  const Result<std::string> root = state_root(options_);
  Result<JobFolder> folder =
      root.ok() ? JobFolder::open(root.value(), options_, slurm_, local, run_id_, node_)
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
  if (has_ranks()) open_replica();
  if (has_ranks()) {
    family_.start(folder_->root(), folder_->job(), folder_->first_attempt().value(),
                  family_of(options_));
  }
  auto_dynamic_.open(folder_->root(), !node_               ? DynamicRole::alone
                                      : node_->coordinates ? DynamicRole::leads
                                                           : DynamicRole::follows);
  ship_.open({collector_of(options_, find_variable(environment_, "HEADWAY_COLLECTOR")),
              folder_->root(), folder_->job()});
  anchor_clock();
  hook_ = find_hook(own_binary(), environment_);
  if (hook_.empty()) {
    console_.warn(
        "the Python hook was not found; measuring from outside only (set HEADWAY_PYTHON_DIR)");
  }
  return {};
}

// One tie of the clocks for all journals of this run, our own included.
void AttemptRunner::anchor_clock() {
  anchor_ = base::to_text(base::take_real_anchor());
  ::setenv("HEADWAY_ANCHOR", anchor_.c_str(), 1);
  const base::TickClock clock = base::calibrate_tick_clock(kCalibrateNs);
  if (clock.kind != base::TickKind::tsc) return;
  tsc_hz_ = clock.hz;
  ::setenv("HEADWAY_TSC_HZ", fmt::to_string(tsc_hz_).c_str(), 1);
}

AttemptContext AttemptRunner::open_attempt(int restarts, const NodeAttempt* agreed) {
  AttemptContext attempt;
  attempt.restarts = restarts;
  attempt.place.world_size = options_.nproc;
  if (agreed != nullptr) attempt.place = agreed->place;
  ++attempts_;
  if (!folder_) return attempt;
  AttemptId id = folder_->first_attempt();
  if (agreed != nullptr) {
    id = attempt_of(agreed->id);
  } else if (restarts > 0) {
    id.launch = folder_->newest_attempt(attempt_).launch + 1;
  }
  attempt_ = id;
  // Of an earlier run nobody knows how it ended.
  if (attempts_ == 1 || memory_suspect_) memory_trusted_from_ = id.value();
  Result<std::string> dir = folder_->make_attempt(id);
  Status status = dir.status();
  if (status.ok()) {
    attempt.dir = *dir;
    attempt.measurement =
        Measurement{folder_->root(), folder_->job(), id.value(), anchor_, tsc_hz_, hook_};
    status = journal_.open(attempt.dir, folder_->job(), id.value(), attempt.place.world_size,
                           node_name());
  }
  if (!status.ok()) {
    if (!warned_) console_.warn(status.message() + "; going on without it");
    warned_ = true;
    return attempt;
  }
  if (node_) {
    journal_.attr("node", node_->name);
    journal_.attr("nodes", fmt::to_string(attempt.place.nodes));
  }
  take_slurm_times(SlurmScheduler::launch_wait_ns);
  write_opening(journal_, options_, slurm_, id, attempts_ == 1 ? began_ns_ : base::monotonic_ns());
  auto_dynamic_.begin(attempt.dir, attempt.place, agreed != nullptr ? &agreed->setting : nullptr,
                      journal_);
  return attempt;
}

// The controller knows since when the job waited; the environment at best when it started.
void AttemptRunner::take_slurm_times(std::int64_t wait_ns) {
  if (!scheduler_ || slurm_times_known_) return;
  const std::optional<SlurmTimes> times = scheduler_->times(wait_ns);
  if (!times) return;
  slurm_times_known_ = true;
  slurm_->submit_time_s = times->submitted_s.value_or(0);
  slurm_->start_time_s = times->allocated_s.value_or(slurm_->start_time_s);
}

// A launcher that we run (torchrun --max-restarts) makes attempts by itself. What we have to say
// later, of its end, belongs to the last of them.
void AttemptRunner::follow_launcher() {
  if (!folder_ || options_.has_ranks() || node_) return;
  const AttemptId newest = folder_->newest_attempt(attempt_);
  if (newest.launch == attempt_.launch) return;
  attempt_ = newest;
  journal_.close();
  const Status status = journal_.open(folder_->attempt_path(newest), folder_->job(), newest.value(),
                                      options_.nproc, node_name());
  if (!status.ok()) console_.warn(status.message() + "; going on without it");
}

SpawnPlan AttemptRunner::plan_process(const AttemptContext& attempt, int index) {
  SpawnPlan plan;
  plan.argv = argv_;
  plan.capture_output = many();
  plan.own_process_group = own_groups_;
  RankIdentity identity;
  identity.local_rank = index;
  identity.nproc = options_.nproc;
  identity.place = attempt.place;
  identity.restart_count = attempt.restarts;
  identity.restarts_max = options_.restarts.count;
  identity.run_id = folder_ ? folder_->job() : "none";
  if (!attempt.dir.empty()) {
    identity.error_file = base::error_file_path(
        attempt.dir, static_cast<std::uint32_t>(attempt.place.first_rank + index));
  }
  plan.environment = process_environment(environment_, has_ranks() ? &identity : nullptr,
                                         attempt.measurement ? &*attempt.measurement : nullptr,
                                         options_.kind != CommandKind::program);
  plan.environment.insert_or_assign(std::string(kRunVariable), run_id_);
  if (!attempt.dir.empty()) keep_flight_recorder(plan.environment, attempt.dir);
  if (!attempt.dir.empty()) auto_dynamic_.set(plan.environment);
  if (options_.learn_shapes) {  // also where the cache is torch's own affair
    plan.environment.try_emplace("TORCH_COMPILE_JOB_ID", cache_family(options_));
  }
  if (attempt.board.valid()) {
    plan.environment.insert_or_assign("HEADWAY_BOARD", board_path(attempt.dir, node_name()));
  }
  cache_.add_to(plan.environment);
  if (may_compile_warm(options_, environment_)) {
    plan.environment.insert_or_assign("HEADWAY_WARM_COMPILE", std::string("1"));
  }
  if (!replica_.folder().empty()) {
    plan.environment.insert_or_assign("HEADWAY_REPLICA", replica_.folder());
    plan.environment.insert_or_assign("HEADWAY_REPLICA_TRUSTED",
                                      fmt::to_string(memory_trusted_from_));
    if (!attempt.dir.empty()) family_.add_to(plan.environment);
  } else if (folder_) {  // a checkpointer starts a holder of its own: this program
    plan.environment.try_emplace("HEADWAY_BIN", own_binary());
  }
  return plan;
}

// Without one a checkpointer of the ranks starts a holder of its own.
void AttemptRunner::open_replica() {
  const std::string* given = find_variable(environment_, "HEADWAY_REPLICA_DIR");
  const std::string root = given != nullptr && !given->empty() ? *given : "/dev/shm";
  const std::string identity = fmt::format("{}\n{}", folder_->root(), node_name());
  const Status status = replica_.open(replica_folder(root, folder_->job(), identity), [this] {
    console_.note("waiting for the last run's state to be written");
  });
  if (!status.ok()) console_.warn(status.message() + "; going on without a replica");
}

// Which torch it is of is the ranks' Python's to say; a launcher's is taken to be the one that we
// would take.
void AttemptRunner::open_cache() {
  if (!folder_) return;
  cache::Binding processor;
  if (!cache::add_this_cpu(processor).ok()) return;
  const std::string kind =
      fmt::format("{} {}", processor.arch, fmt::join(processor.cpu_flags, " "));
  auto place = cache_place(options_, environment_, kind, ::getuid());
  if (!place) return;
  if (!place->own_directory && cannot_be_written(place->directory)) {
    // torch writes there even if all it needs is there, and fails: so it gets one of our own.
    Environment without = environment_;
    without.erase("TORCHINDUCTOR_CACHE_DIR");
    const std::string named = place->directory;
    place = cache_place(options_, without, kind, ::getuid());
    console_.note(
        fmt::format("compile cache: {} (TORCHINDUCTOR_CACHE_DIR) cannot be written; this "
                    "job's is {}",
                    named, place->directory));
  }
  const std::string python = find_interpreter(options_, environment_).path;
  if (python.empty()) return;
  const int nodes = options_.nodes.count ? static_cast<int>(options_.nodes.count->max) : 1;
  cache_.open(*place, python, many() ? options_.nproc * nodes : 0, environment_);
}

void AttemptRunner::record_pulled() {
  const auto pulled = cache_.take_pulled();
  if (!pulled) return;
  journal_.attr(node_ ? "compile_cache_pulled." + node_->name : "compile_cache_pulled",
                fmt::format("archives={} files={} bytes={} ms={:.0f}", pulled->archives,
                            pulled->files, pulled->bytes, pulled->seconds * 1e3));
}

void AttemptRunner::warm_up() {
  if (!folder_ || hook_.empty() || !has_ranks()) return;
  AttemptContext nowhere;
  nowhere.place.world_size = options_.nproc;
  nowhere.place.master_port = 1;  // what tells ranks apart is not the server's
  nowhere.measurement = Measurement{folder_->root(), folder_->job(), 0, anchor_, tsc_hz_, hook_};
  warm_.prepare(plan_process(nowhere, 0), folder_->root());
}

Result<AttemptResult> AttemptRunner::run(int restarts, const NodeAttempt* agreed) {
  journal_.close();
  AttemptContext attempt = open_attempt(restarts, agreed);
  aftermath_.begin_attempt();
  if (attempt.measurement && has_ranks()) {
    auto board = record::Board::create(board_path(attempt.dir, node_name()),
                                       static_cast<std::uint32_t>(options_.nproc));
    if (board.ok()) attempt.board = std::move(*board);
  }
  progress_.open(attempt.dir, has_ranks() ? options_.nproc : 0, attempt.place.first_rank);
  if (has_ranks() && agreed == nullptr) {
    Result<ReservedPort> port = reserve_port();
    if (!port.ok()) return port.status();
    attempt.port = std::move(*port);
    attempt.place.master_port = attempt.port.port;
  }
  AttemptPlan plan;
  plan.nproc = options_.nproc;
  plan.grace_ns = options_.grace_ns;
  plan.own_process_groups = own_groups_;
  plan.under_scheduler = scheduled();
  plan.scheduler = scheduler_ ? &*scheduler_ : nullptr;
  plan.has_ranks = has_ranks();
  plan.dir = attempt.dir;
  plan.process = [this, &attempt](int index) { return plan_process(attempt, index); };
  plan.before_mark = [this] { follow_launcher(); };
  plan.first_rank = attempt.place.first_rank;
  plan.companion = agreed != nullptr ? agreed->companion : nullptr;
  plan.hang = options_.hang;
  if (attempt.board.valid()) plan.board = &attempt.board;
  if (!replica_.folder().empty()) plan.replica = &replica_;
  if (attempt.measurement && has_ranks()) plan.progress = &progress_;
  plan.started = [this] { aftermath_.when_idle(); };
  if (attempt.measurement && !hook_.empty()) {
    warm_.prepare(plan.process(0), folder_->root());
    plan.server = warm_.server();
    plan.plain_reason = warm_.reason();
    plan.server_gone = [this, &plan] { warm_.start_again(plan.process(0)); };
  }
  ship_.start();
  plan.chores.push_back(&ship_);
  cache_.wait_until_pulled();
  record_pulled();
  if (cache_.on()) {
    plan.chores.push_back(&cache_);
    cache_.begin_attempt(plan.progress == nullptr ? std::function<bool()>() : [this] {
      progress_.look();
      return progress_.all_stepped(kFirstSteps);
    });
  }
  if (plan.companion != nullptr) plan.companion->use_board(plan.board);
  Result<AttemptResult> result =
      Supervisor(plan, signals_, console_, journal_, guard_, sweep_).run();
  if (plan.companion != nullptr) plan.companion->use_board(nullptr);
  if (folder_) auto_dynamic_.finish(folder_->job(), attempt_.value(), journal_);
  if (result.ok() && result->outcome.stop_signal != 0) hurried_ = true;
  if (result.ok()) {
    const Outcome& outcome = result->outcome;
    family_.ended((outcome.failed() || outcome.for_others) && outcome.stop_signal == 0);
  }
  if (result.ok()) memory_suspect_ = may_have_damaged_memory(result->outcome.ends);
  if (slurm_ && !slurm_times_known_ && attempt_.launch == 1) {  // an answer that came late
    take_slurm_times(0);
    if (slurm_times_known_) write_allocation(journal_, *slurm_, began_ns_);
  }
  if (!result.ok()) {
    // Nothing ran: the job's record must not look like a clean end.
    const RankEnd end{start_failure_code(result.status()), 0};
    const auto rank = static_cast<std::uint32_t>(attempt.place.first_rank);
    journal_.failure(rank, end, HW_ORIGIN_USER);
    journal_.exit(rank, end, HW_ORIGIN_USER);
  }
  return result;
}

void AttemptRunner::close_journal(bool job_ends) {
  if (job_ends) journal_.mark(HW_MARK_JOB_END);
  journal_.close();
}

void AttemptRunner::end(bool failed, int orderly_restarts) {
  // First: of several machines the others' holders wait for ours, and not for long.
  replica_.let_end();
  aftermath_.when_idle();
  cache_.finish(hurried_ || memory_suspect_);  // what crashed a rank is for nobody else
  ship_.finish(hurried_);
  sweep_.kill_descendants(true);
  const bool uploaded = replica_.finish([this] {
    console_.note("writing the last state that was staged, and what is to be uploaded");
  });
  if (!uploaded) {
    console_.warn(
        "the newest checkpoint is on disk but not in the object store: the next run goes on with "
        "it, or `headway ckpt copy` does");
  }
  if (!folder_) return;
  const std::uint64_t attempts = node_ ? static_cast<std::uint64_t>(attempts_)
                                       : attempt_.launch - folder_->first_attempt().launch + 1;
  if (attempts == 0) return;
  const std::uint64_t failures =
      attempts - 1 - static_cast<std::uint64_t>(orderly_restarts) + (failed ? 1 : 0);
  // A line to paste: the folder is named if it was named to us.
  const std::string where = options_.dir.empty() ? "" : fmt::format(" --dir '{}'", options_.dir);
  const char* verb = failed ? "why" : "report";
  const std::size_t in_all = folder_->attempts_in_all();
  const std::string earlier =
      in_all > attempts ? fmt::format(" in this run; {} attempts in all", in_all) : "";
  console_.note(fmt::format("job {}: {}, {}{} · headway {} {}{}", folder_->job(),
                            base::plural(attempts, "attempt"), base::plural(failures, "failure"),
                            earlier, verb, folder_->job(), where));
}

void AttemptRunner::come_back() {
  if (scheduler_) scheduler_->come_back(console_, signals_);
}

std::string AttemptRunner::name_of(int rank) const {
  return has_ranks() ? fmt::format("rank {}", rank) : argv_.front();
}

int AttemptRunner::start_failure_code(const Status& status) const {
  if (options_.kind != CommandKind::program) return kExitAgentFault;
  if (status.code() == Code::not_found) return kExitNotFound;
  return status.code() == Code::unsupported ? kExitNotExecutable : kExitAgentFault;
}

}  // namespace headway::agent
