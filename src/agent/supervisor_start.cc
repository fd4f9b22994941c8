// The Supervisor's first part: from nothing to running ranks, by the fork server where there is
// one and plainly otherwise.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "agent/supervisor.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/job_path.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

// Imports from a cold network file system take minutes, plainly or not; this only ends a hang.
constexpr std::int64_t kServerWaitNs = 600'000'000'000;

}  // namespace

// The attempt's kind of start, for the report.
void Supervisor::note_start(const std::string& how) {
  if (start_noted_) return;
  start_noted_ = true;
  journal_.attr("start", how);
}

base::Status Supervisor::start() {
  if (ask_server()) return {};
  if (!plan_.plain_reason.empty()) note_start("plain: " + plan_.plain_reason);
  for (int index = 0; index < plan_.nproc; ++index) {
    if (base::Status status = start_rank(index); !status.ok()) return status;
  }
  return {};
}

base::Status Supervisor::start_rank(int index) {
  base::Result<Child> child = spawn(plan_.process(index), signals_);
  if (!child.ok()) return child.status();
  begin_rank(index, std::move(*child));
  return {};
}

void Supervisor::begin_rank(int index, Child child) {
  Rank& rank = ranks_[static_cast<std::size_t>(index)];
  rank.child = std::move(child);
  rank.running = true;
  journal_.mark(HW_MARK_TRAINER_START);
  if (rank.child.pidfd.valid()) {
    HW_CHECK(watch(rank.child.pidfd.get(), EPOLLIN, Watch::rank_end, index));
  }
  if (!rank.child.out.valid()) return;
  if (!plan_.dir.empty()) {
    rank.log = RankLog(
        base::rank_log_path(plan_.dir, static_cast<std::uint32_t>(plan_.first_rank + index)));
  }
  for (const bool is_stderr : {false, true}) {
    base::UniqueFd& pipe = is_stderr ? rank.child.err : rank.child.out;
    const Watch kind = is_stderr ? Watch::rank_err : Watch::rank_out;
    HW_CHECK(watch(pipe.get(), EPOLLIN, kind, index));
    rank.streams.push_back(Stream{std::move(pipe),
                                  LineCutter(console_.prefix(plan_.first_rank + index, is_stderr)),
                                  is_stderr, false});
  }
}

// False: there is no server, or it cannot be asked.
bool Supervisor::ask_server() {
  if (plan_.server == nullptr || !plan_.server->alive()) return false;
  std::vector<ForkServer::Request> requests;
  for (int index = 0; index < plan_.nproc; ++index) {
    SpawnPlan process = plan_.process(index);
    ForkServer::Request request{index, std::move(process.environment), {-1, -1, -1}};
    if (process.capture_output) {
      OutputPipes& pipes = ranks_[static_cast<std::size_t>(index)].pipes;
      if (!make_output_pipes(pipes).ok()) return false;
      request.streams[0] = pipes.null_input.get();
      request.streams[1] = pipes.out_write.get();
      request.streams[2] = pipes.err_write.get();
    }
    requests.push_back(std::move(request));
  }
  if (!plan_.server->ask(requests, plan_.own_process_groups).ok()) {
    plan_.server->stop();
    return false;
  }
  HW_CHECK(watch(plan_.server->fd(), EPOLLIN, Watch::server, 0));
  server_watched_ = true;
  server_deadline_ns_ = base::monotonic_ns() + kServerWaitNs;
  for (Rank& rank : ranks_) {
    rank.pending = true;
    rank.pipes.null_input.reset();
    rank.pipes.out_write.reset();
    rank.pipes.err_write.reset();
  }
  return true;
}

bool Supervisor::any_pending() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.pending; });
}

void Supervisor::serve_server() {
  if (!server_watched_) return;
  while (const auto reply = plan_.server->next()) {
    using Kind = ForkServer::Reply::Kind;
    for (const auto& [module, why] : reply->failed) {
      console_.warn(fmt::format("--preload {}: {}", module, why));
    }
    if (reply->kind == Kind::started && reply->rank < plan_.nproc) adopt(reply->rank, reply->pid);
    if (reply->kind == Kind::unfit && any_pending()) {
      start_status_ = start_pending_plainly(reply->text);
    }
    if (reply->kind != Kind::gone) continue;
    server_watched_ = false;  // closed, and so no longer watched
    if (any_pending()) start_status_ = start_pending_plainly("the fork server has ended");
    plan_.server_gone();
    // A new one is watched from here on, so that its end is seen too.
    if (plan_.server->alive()) {
      HW_CHECK(watch(plan_.server->fd(), EPOLLIN, Watch::server, 0));
      server_watched_ = true;
    }
    return;
  }
}

// A rank that the fork server has made. It is our child as soon as its parent has ended.
void Supervisor::adopt(int index, pid_t pid) {
  Rank& rank = ranks_[static_cast<std::size_t>(index)];
  if (!rank.pending) {  // given up: it must not run beside its successor
    ::kill(pid, SIGKILL);
    return;
  }
  rank.pending = false;
  Child child;
  child.pid = pid;
  child.pidfd = open_pidfd(pid);
  child.out = std::move(rank.pipes.out_read);
  child.err = std::move(rank.pipes.err_read);
  note_start("warm");
  begin_rank(index, std::move(child));
  if (policy_.tearing_down()) ::kill(pid, SIGKILL);
}

// The server cannot or does not fork. The job must not suffer from that.
base::Status Supervisor::start_pending_plainly(const std::string& reason) {
  if (plan_.server->alive() && !policy_.tearing_down()) console_.note("plain start: " + reason);
  note_start("plain: " + reason);
  for (int index = 0; index < plan_.nproc; ++index) {
    Rank& rank = ranks_[static_cast<std::size_t>(index)];
    if (!rank.pending) continue;
    rank.pipes = OutputPipes();
    if (policy_.tearing_down()) {
      end_rank(index, RankEnd{0, SIGKILL});
      continue;
    }
    rank.pending = false;
    if (base::Status status = start_rank(index); !status.ok()) return status;
  }
  return {};
}

// Somebody asked us to stop before the ranks were there.
void Supervisor::cancel_pending(int signal) {
  const bool none_runs =
      std::none_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.running; });
  if (!any_pending() || !none_runs) return;
  server_watched_ = false;
  plan_.server->stop();
  for (int index = 0; index < plan_.nproc; ++index) {
    if (!ranks_[static_cast<std::size_t>(index)].pending) continue;
    end_rank(index, RankEnd{0, signal != 0 ? signal : SIGTERM});
  }
}

}  // namespace headway::agent
