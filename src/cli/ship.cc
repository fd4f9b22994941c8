// headway ship: sends what a job has recorded to a collector.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/duration.h"
#include "base/job_path.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/report_live.h"
#include "cli/ship_pending.h"
#include "cli/verb.h"
#include "ingest/shipper.h"
#include "interchange/job_input.h"
#include "net/curl_transport.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

constexpr int kNice = 10;                                     // beside ranks that train
constexpr std::int64_t kCatchUpPauseNs = base::kNsPerSecond;  // beside a job that runs
constexpr std::int64_t kLookAtAgentNs = 100'000'000;          // whose end waits for us

struct ShipVerbOptions {
  std::string job;
  std::string to;
  std::string dir;
  std::string wait = "1m";
  bool follow = false;
  bool every_host = false;
  bool json = false;
  bool unsent = false;
  int until_fd = -1;  // of an agent: closed, nobody writes any more
};

Status check_url(const std::string& url) {
  if (url.empty()) {
    return Status::invalid("where is the collector? give --to URL, or set HEADWAY_COLLECTOR");
  }
  if (url.starts_with("http://") || url.starts_with("https://")) return {};
  return Status::invalid("--to " + url +
                         ": is no collector's address; give one as in "
                         "http://127.0.0.1:8743");
}

Result<ingest::Destination> destination(const ShipVerbOptions& given) {
  ingest::Destination to;
  to.url = given.to;
  if (const char* url = std::getenv("HEADWAY_COLLECTOR"); given.to.empty() && url != nullptr) {
    to.url = url;
  }
  while (to.url.ends_with('/')) to.url.pop_back();
  if (Status status = check_url(to.url); !status.ok()) return status;
  if (const char* token = std::getenv("HEADWAY_TOKEN"); token != nullptr) to.token = token;
  return to;
}

Result<ingest::ShipOptions> resolve(const ShipVerbOptions& given) {
  ingest::ShipOptions options;
  auto to = destination(given);
  if (!to.ok()) return to.status();
  options.to = std::move(*to);
  const auto root = base::jobs_root(given.dir);
  if (!root.ok()) return root.status();
  options.job = given.job;
  if (options.job.empty()) {
    const auto newest = interchange::newest_job(root.value(), "run one with `headway run`");
    if (!newest.ok()) return newest.status();
    options.job = newest.value();
  }
  if (Status status = base::check_job_name(options.job); !status.ok()) return status;
  options.job_dir = base::job_dir(root.value(), options.job);
  options.every_host = given.every_host;
  if (given.until_fd < 0 && !std::filesystem::is_directory(options.job_dir)) {
    return interchange::no_such_job(options.job, root.value());
  }
  const auto there = base::list_files(options.job_dir, base::kJournalSuffix, 2, 1u << 20);
  if (!there.ok()) return there.status();
  if (there.value().empty() && given.until_fd < 0) {
    return Status::invalid(options.job_dir +
                           ": has no journals; `headway report` lists what "
                           "there is");
  }
  return options;
}

// An agent that starts us holds the other end for as long as its ranks may write. One that is
// killed closes it, too, and its ranks die a moment later.
class Writers {
 public:
  Writers(const ShipVerbOptions& given, std::string job_dir)
      : until_fd_(given.until_fd), parent_(::getppid()), job_dir_(std::move(job_dir)) {}
  [[nodiscard]] bool tells_at_once() const { return until_fd_ >= 0; }
  [[nodiscard]] bool alive() {
    if (until_fd_ < 0) return job_is_alive(job_dir_);
    pollfd ready{until_fd_, POLLIN, 0};
    closed_ = closed_ || (::poll(&ready, 1, 0) == 1 && (ready.revents & (POLLHUP | POLLERR)) != 0);
    return !closed_ || (::getppid() != parent_ && job_is_alive(job_dir_));
  }

 private:
  const int until_fd_;
  const pid_t parent_;
  const std::string job_dir_;
  bool closed_ = false;
};

// Until the signal that asks for an end, or for so long, or until those who write are gone. True:
// the signal came.
bool wait_for_stop(const sigset_t& signals, std::int64_t wait_ns, Writers* writers) {
  const bool looks = writers != nullptr && writers->tells_at_once();
  while (true) {
    const std::int64_t part_ns = looks ? std::min(wait_ns, kLookAtAgentNs) : wait_ns;
    const timespec time{part_ns / base::kNsPerSecond, part_ns % base::kNsPerSecond};
    if (::sigtimedwait(&signals, nullptr, &time) > 0) return true;
    wait_ns -= part_ns;
    if (wait_ns <= 0 || (looks && !writers->alive())) return false;
  }
}

int summary(const ShipVerbOptions& given, const ingest::ShipOptions& options,
            const ingest::Shipper& shipper, bool still_running) {
  const ingest::ShipCounts& counts = shipper.counts();
  const bool all = (shipper.done() || still_running) && counts.refused_journals == 0;
  if (given.json) {
    const int code = print_json({{"job", options.job},
                                 {"complete", all},
                                 {"running", still_running},
                                 {"batches", counts.batches},
                                 {"records", counts.slots},
                                 {"bytes", counts.bytes},
                                 {"retries", counts.retries},
                                 {"refused_journals", counts.refused_journals}});
    return code != kExitOk ? code : all ? kExitOk : kExitCheckFailed;
  }
  const int code = print_out(
      fmt::format("job {}: {} sent to {}, {}{}\n", options.job, plural(counts.slots, "record"),
                  options.to.url, human_bytes(counts.bytes),
                  !all            ? "; not all: see above"
                  : still_running ? "; it is running: --follow sends what comes, too"
                                  : ""));
  return code != kExitOk ? code : all ? kExitOk : kExitCheckFailed;
}

sigset_t block_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void tell(const std::string& note) {
  if (!note.empty()) fmt::print(stderr, "headway: {}\n", note);
}

// A run's sender sends what earlier jobs have left, too, but not when the run's end waits for it.
std::optional<CatchUp> earlier_jobs(const ShipVerbOptions& given,
                                    const ingest::ShipOptions& options, net::Transport& transport) {
  if (given.until_fd < 0) return {};
  note_unsent(options.job_dir, options.to.url);
  const auto root = base::jobs_root(given.dir);
  if (!root.ok()) return {};
  return std::optional<CatchUp>(std::in_place, transport, options.to, root.value(), options.job,
                                kCatchUpPauseNs);
}

int ship_unsent(const ShipVerbOptions& given) {
  if (!given.job.empty() || given.follow) {
    return fail(
        Status::invalid("--unsent is of all earlier jobs; name none, and leave --follow out"));
  }
  const auto to = destination(given);
  if (!to.ok()) return fail_cleanly(to.status());
  const auto root = base::jobs_root(given.dir);
  if (!root.ok()) return fail_cleanly(root.status());
  const auto patience = base::parse_time_option("--wait", given.wait, 0, 7 * 24 * 3600);
  if (!patience.ok()) return fail(patience.status());
  const sigset_t signals = block_stop_signals();
  net::CurlTransport transport(net::CurlOptions{});
  CatchUp earlier(transport, to.value(), root.value(), "", 0);
  std::int64_t progress_ns = base::clock_ns(CLOCK_MONOTONIC);
  while (!earlier.over()) {
    const std::int64_t now_ns = base::clock_ns(CLOCK_MONOTONIC);
    const std::size_t sent = earlier.batches_sent();
    const CatchUp::Step step = earlier.step(now_ns, base::real_ns());
    tell(step.note);
    if (earlier.batches_sent() != sent) progress_ns = now_ns;
    const std::int64_t left_ns = progress_ns + patience.value() - now_ns;
    if (left_ns < 0 || (step.wait_ns > 0 &&
                        wait_for_stop(signals, std::min(step.wait_ns, left_ns + 1), nullptr))) {
      break;
    }
  }
  const bool all = earlier.over() && earlier.refused_journals() == 0;
  const int code =
      given.json
          ? print_json({{"jobs", earlier.jobs_sent()}, {"complete", all}})
          : print_out(fmt::format("{} sent to {}{}\n", plural(earlier.jobs_sent(), "earlier job"),
                                  to.value().url, all ? "" : "; not all: see above"));
  return code != kExitOk ? code : all ? kExitOk : kExitCheckFailed;
}

int ship(const ShipVerbOptions& given) {
  const auto options = resolve(given);
  if (!options.ok()) return fail_cleanly(options.status());
  const auto patience = base::parse_time_option("--wait", given.wait, 0, 7 * 24 * 3600);
  if (!patience.ok()) return fail(patience.status());
  const sigset_t signals = block_stop_signals();
  net::CurlTransport transport(net::CurlOptions{});
  ingest::Shipper shipper(transport, options.value(), static_cast<std::uint64_t>(base::real_ns()));
  std::int64_t progress_ns = base::clock_ns(CLOCK_MONOTONIC);
  std::uint64_t sent = 0;
  bool still_running = false;
  Writers writers(given, options.value().job_dir);
  if (given.until_fd >= 0) (void)::nice(kNice);
  std::optional<CatchUp> earlier = earlier_jobs(given, options.value(), transport);
  while (!shipper.done()) {
    const std::int64_t now_ns = base::clock_ns(CLOCK_MONOTONIC);
    const bool alive = writers.alive();
    const ingest::Shipper::Round round = shipper.round(now_ns, base::real_ns(), !alive);
    tell(round.note);
    if (alive && round.caught_up && earlier) tell(earlier->step(now_ns, base::real_ns()).note);
    // A job that runs is followed to its end where that was asked for; else what is there is sent.
    if (alive && round.caught_up && !given.follow) {
      still_running = true;
      break;
    }
    if (shipper.counts().batches != sent) {
      sent = shipper.counts().batches;
      progress_ns = now_ns;
    }
    std::int64_t wait_ns = round.wait_ns;
    if (!(alive && given.follow)) {
      const std::int64_t left_ns = progress_ns + patience.value() - now_ns;
      if (left_ns < 0) break;
      wait_ns = std::min(wait_ns, left_ns + 1);
    }
    if (wait_ns > 0 && wait_for_stop(signals, wait_ns, alive ? &writers : nullptr)) break;
  }
  if (shipper.done()) forget_unsent(options.value().job_dir);
  return summary(given, options.value(), shipper, still_running);
}

}  // namespace

void add_ship(Verb& app, int& exit_code) {
  auto* verb = app.add_verb("ship", "Send what a job has recorded to a collector");
  auto given = std::make_shared<ShipVerbOptions>();
  verb->add_option("JOB", given->job, "The job (default: the newest)");
  verb->add_option("--to", given->to, "The collector (default: $HEADWAY_COLLECTOR)")
      ->type_name("URL");
  add_dir_option(*verb, given->dir);
  verb->add_flag("--follow", given->follow, "While the job runs, too, until it is over");
  verb->add_flag("--every-host", given->every_host,
                 "Journals of other machines in the folder, too");
  verb->add_flag("--unsent", given->unsent,
                 "What earlier jobs of this machine, run with --collector, could not send");
  verb->add_option("--wait", given->wait,
                   "Give up when the collector takes nothing for so long (1m)")
      ->type_name("TIME");
  verb->add_flag("--json", given->json, "What was sent, for programs");
  verb->add_option("--until-fd", given->until_fd)->hidden();
  verb->footer(
      "The token, where the collector wants one, is read from HEADWAY_TOKEN. What the\n"
      "collector has already counts once, however often it is sent.\n"
      "\n"
      "Examples:\n"
      "  headway ship nightly --to http://127.0.0.1:8743\n"
      "  headway ship --unsent --to http://127.0.0.1:8743");
  verb->callback(
      [given, &exit_code] { exit_code = given->unsent ? ship_unsent(*given) : ship(*given); });
}

}  // namespace headway::cli
