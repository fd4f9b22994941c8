#include "agent/ship_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string_view>

#include "base/clock.h"
#include "base/job_path.h"
#include "base/start_process.h"

namespace headway::agent {
namespace {

constexpr int kFirstFreeFd = 10;  // above the one that the child gets
constexpr int kAliveFd = 3;
constexpr int kStartsMax = 100;
constexpr int kLookMs = 5;
constexpr std::int64_t kTellAfterNs = 2 * base::kNsPerSecond;
constexpr const char* kLog = "ship.log";
// Of ingest::Shipper's words.
constexpr std::string_view kRefusal = "does not take records", kSaidBy = "headway: ";

}  // namespace

// Its exit may have been taken by whoever waits for ranks: then how it ended is not known.
bool ShipKeeper::is_gone() {
  if (pid_ == 0) return true;
  const pid_t got = ::waitpid(pid_, &status_, WNOHANG);
  if (got == 0) return false;
  if (got < 0) status_ = 0;
  sweep_.unspare(pid_);
  pid_ = 0;
  return true;
}

void ShipKeeper::start() {
  if (place_.collector.empty() || !is_gone() || starts_ == kStartsMax) return;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const base::UniqueFd read_end(ends[0]);
  base::UniqueFd write_end(ends[1]);
  const base::UniqueFd theirs(::fcntl(read_end.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  base::ProcessPlan plan{.argv = {"headway", "ship", place_.job, "--to", place_.collector, "--dir",
                                  place_.root, "--follow", "--wait", "7d", "--until-fd",
                                  fmt::to_string(kAliveFd)}};
  plan.program = "/proc/self/exe";
  plan.errors = {log_path(), true};
  plan.descriptors = {{theirs.get(), kAliveFd}};
  plan.own_session = true;  // Ctrl-C is for us: there is something left to send then
  auto pid = base::start_process(plan);
  if (!pid.ok()) {
    console_.note(
        fmt::format("nothing is sent to {}: {}", place_.collector, pid.status().message()));
    place_.collector.clear();
    return;
  }
  if (++starts_ == 1) {
    struct stat log{};
    heard_bytes_ = ::stat(log_path().c_str(), &log) == 0 ? log.st_size : 0;
    next_look_ns_ = base::monotonic_ns() + look_ns;
  }
  pid_ = *pid;
  sweep_.spare(pid_);
  alive_ = std::move(write_end);
}

std::string ShipKeeper::log_path() const {
  return base::job_dir(place_.root, place_.job) + "/" + kLog;
}

// A token that is missing had better be known while the job runs. Once: the sender goes on trying.
void ShipKeeper::serve(std::int64_t now_ns) {
  if (!next_look_ns_ || now_ns < *next_look_ns_) return;
  next_look_ns_ = now_ns + look_ns;
  std::ifstream log(log_path());
  log.seekg(heard_bytes_);
  for (std::string line; std::getline(log, line) && !log.eof();) {
    heard_bytes_ += static_cast<std::int64_t>(line.size()) + 1;
    if (line.find(kRefusal) == std::string::npos) continue;
    if (line.starts_with(kSaidBy)) line.erase(0, kSaidBy.size());
    console_.warn(line);
    next_look_ns_.reset();
    return;
  }
}

void ShipKeeper::finish(bool hurried) {
  next_look_ns_.reset();
  if (place_.collector.empty() || starts_ == 0) return;
  alive_.reset();
  const std::int64_t began_ns = base::monotonic_ns();
  const std::int64_t wait_ns = hurried ? hurried_wait_ns : finish_wait_ns;
  bool told = false;
  while (!is_gone()) {
    const std::int64_t took_ns = base::monotonic_ns() - began_ns;
    if (took_ns > wait_ns) break;
    if (took_ns > kTellAfterNs && !told) {
      console_.note("sending the last records to " + place_.collector);
      told = true;
    }
    ::poll(nullptr, 0, kLookMs);
  }
  const bool late = pid_ != 0;
  while (!is_gone()) {
    ::kill(pid_, SIGKILL);
    ::poll(nullptr, 0, kLookMs);
  }
  if (late || status_ != 0) {
    console_.warn(fmt::format(
        "{} has not taken all records of this job: the next run with it sends the rest, "
        "or `headway ship {} --to {}` does; why is in {}",
        place_.collector, place_.job, place_.collector, log_path()));
  }
}

}  // namespace headway::agent
