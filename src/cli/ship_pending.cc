#include "cli/ship_pending.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/job_path.h"
#include "cli/report_live.h"
#include "interchange/job_input.h"

namespace headway::cli {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

std::string note_path(const std::string& job_dir) {
  return fmt::format("{}/ship-{}.unsent", job_dir, host_name());
}

}  // namespace

void note_unsent(const std::string& job_dir, const std::string& collector) {
  std::ofstream(note_path(job_dir), std::ios::trunc) << collector << '\n';
}

void forget_unsent(const std::string& job_dir) {
  ::unlink(note_path(job_dir).c_str());
}

CatchUp::CatchUp(net::Transport& transport, ingest::Destination to, std::string root,
                 std::string own_job, std::int64_t pause_ns)
    : transport_(transport), to_(std::move(to)), root_(std::move(root)), pause_ns_(pause_ns) {
  find(own_job);
}

void CatchUp::find(const std::string& own_job) {
  std::size_t left_out = 0;
  for (const std::string& job : interchange::recent_jobs(root_)) {
    const std::string folder = base::job_dir(root_, job);
    std::string collector;
    std::getline(std::ifstream(note_path(folder)), collector);
    if (job == own_job || collector != to_.url) continue;
    if (waiting_.size() < jobs_max) {
      waiting_.push_back(job);
      continue;
    }
    forget_unsent(folder);
    ++left_out;
  }
  if (left_out == 0) return;
  first_note_ = fmt::format(
      "{} jobs older than the newest {} that were not sent are left alone from now on: `headway "
      "ship JOB` sends one",
      left_out, jobs_max);
}

void CatchUp::begin(std::uint64_t seed) {
  job_ = std::move(waiting_.front());
  waiting_.pop_front();
  const std::string folder = base::job_dir(root_, job_);
  if (job_is_alive(folder)) return;  // it has a sender of its own
  shipper_ = std::make_unique<ingest::Shipper>(
      transport_, ingest::ShipOptions{to_, folder, job_, false, host_name()}, seed);
}

// What the collector will not have stays where it is, and is not offered again.
std::string CatchUp::finish() {
  batches_ += shipper_->counts().batches;
  refused_ += shipper_->counts().refused_journals;
  forget_unsent(base::job_dir(root_, job_));
  shipper_.reset();
  ++jobs_sent_;
  return fmt::format("what was left of the earlier job {} is sent", job_);
}

CatchUp::Step CatchUp::step(std::int64_t now_ns, std::int64_t real_ns) {
  if (!first_note_.empty()) return {0, std::exchange(first_note_, {})};
  if (now_ns < next_ns_) return {next_ns_ - now_ns};
  if (!shipper_ && !waiting_.empty()) begin(static_cast<std::uint64_t>(real_ns));
  if (!shipper_) return {};
  const ingest::Shipper::Round round = shipper_->round(now_ns, real_ns, true);
  next_ns_ = now_ns + std::max(round.wait_ns, pause_ns_);
  if (shipper_->done()) return {pause_ns_, finish()};
  return {next_ns_ - now_ns, round.note};
}

}  // namespace headway::cli
