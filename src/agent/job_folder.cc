#include "agent/job_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/check.h"
#include "base/job_path.h"

namespace headway::agent {
namespace fs = std::filesystem;
namespace {

using base::Status;

constexpr int kNameTriesMax = 1000;
constexpr const char* kLockName = "/agent.lock";

// A default name must be this run's alone, or one that Slurm keeps through a requeue.
std::string nth_name(const std::string& name, int n) {
  return n == 1 ? name : fmt::format("{}-{}", name, n);
}

std::string read_all(int fd) {
  char bytes[4096];
  const ssize_t got = ::pread(fd, bytes, sizeof(bytes), 0);
  return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : std::string();
}

std::vector<std::uint64_t> attempts_in(const std::string& folder) {
  std::vector<std::uint64_t> seen;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::uint64_t id = 0;
    const auto [stop, failed] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (failed == std::errc() && stop == name.data() + name.size()) seen.push_back(id);
  }
  return seen;
}

// "run ID" of a lock file that was written on this host.
std::string run_of_note(const std::string& text, const std::string& host) {
  const std::string on = " on " + host + "\n";
  const std::size_t run = text.find("\nrun ");
  if (text.find(on) == std::string::npos || run == std::string::npos) return {};
  const std::size_t begin = run + 5;
  return text.substr(begin, text.find('\n', begin) - begin);
}

Status rewrite(int fd, const std::string& folder, const std::string& text) {
  if (::ftruncate(fd, 0) == 0 &&
      ::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
    return {};
  }
  return Status::io(fmt::format("{}: cannot write its lock: {}", folder, std::strerror(errno)));
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

}  // namespace

base::Result<std::string> state_root(const RunOptions& options) {
  base::Result<std::string> root = base::jobs_root(options.dir);
  if (!root.ok()) return root;
  std::error_code error;
  const fs::path absolute = fs::absolute(*root, error);  // a rank may change its folder
  std::string text = (error ? fs::path(*root) : absolute).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

JobFolder::Lock JobFolder::lock(const std::string& path, base::UniqueFd& into) const {
  into = base::UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!into.valid()) return Lock::failed;
  if (::flock(into.get(), LOCK_EX | LOCK_NB) == 0) return Lock::taken;
  return errno == EWOULDBLOCK ? Lock::busy : Lock::failed;
}

JobFolder::Lock JobFolder::try_lock() {
  if (!node_) return lock(path() + kLockName, lock_);
  const std::string own = fmt::format("{}/{}.lock", path(), base::agent_journal_stem(node_->name));
  const Lock got = lock(own, node_lock_);
  return got == Lock::taken && node_->coordinates ? lock(path() + kLockName, lock_) : got;
}

// Whoever numbers attempts finds the next number, in the job's lock; whoever starts ranks leaves
// the mark of its processes, in its own.
Status JobFolder::place(const std::optional<SlurmInfo>& slurm, const std::string& run_id) {
  const base::UniqueFd& own = node_ ? node_lock_ : lock_;
  HW_CHECK(own.valid());
  previous_run_ = run_of_note(read_all(own.get()), host_name());
  const std::vector<std::uint64_t> seen = attempts_in(path());
  highest_ = seen.empty() ? 0 : *std::max_element(seen.begin(), seen.end());
  const std::string head = fmt::format("pid {} on {}\n", ::getpid(), host_name());
  const std::string tail = fmt::format("run {}\n", run_id);
  if (lock_.valid()) {
    const auto note = parse_note(read_all(lock_.get()));
    const Placement placed = place_invocation(seen, note, slurm);
    first_ = placed.first;
    Status status = rewrite(lock_.get(), path(), head + format_note(placed.note) + tail);
    if (!status.ok()) return status;
  }
  return node_ ? rewrite(own.get(), path(), head + tail) : Status{};
}

base::Result<JobFolder> JobFolder::open(const std::string& root, const RunOptions& options,
                                        const std::optional<SlurmInfo>& slurm,
                                        const std::tm& local_time, const std::string& run_id,
                                        const std::optional<NodeSeat>& node) {
  JobFolder folder;
  folder.root_ = root;
  folder.node_ = node;
  std::error_code error;
  fs::create_directories(root, error);
  if (error) return Status::io(fmt::format("{}: {}", root, error.message()));
  const bool named = !options.job.empty();
  const std::string name = named ? options.job : default_job_name(options, slurm, local_time);
  for (int n = 1; n <= kNameTriesMax; ++n) {
    folder.job_ = nth_name(name, n);
    const bool made = ::mkdir(folder.path().c_str(), 0755) == 0;
    if (!made && errno != EEXIST) {
      return Status::io(fmt::format("{}: {}", folder.path(), std::strerror(errno)));
    }
    if (!made && !named && !slurm) continue;  // a name of the same second is another run's
    switch (folder.try_lock()) {
      case Lock::taken:
        if (Status status = folder.place(slurm, run_id); !status.ok()) return status;
        return folder;
      case Lock::failed:
        return Status::io(fmt::format("{}{}: {}", folder.path(), kLockName, std::strerror(errno)));
      case Lock::busy:
        if (!named) continue;
        const std::string holder =
            read_all(folder.lock_.valid() ? folder.lock_.get() : folder.node_lock_.get());
        return Status::invalid(fmt::format(
            "job {} is already being run by {}; stop it or choose another --{}", folder.job_,
            holder.starts_with("pid ") ? holder.substr(0, holder.find('\n')) : "another agent",
            folder.node_ ? "node-name and --node-rank, if this is to be another node" : "job"));
    }
  }
  return Status::io(fmt::format("{}/{}: no free name after {} tries", root, name, kNameTriesMax));
}

AttemptId JobFolder::newest_attempt(AttemptId from) const {
  AttemptId newest = from;
  for (const std::uint64_t id : attempts_in(path())) {
    if (id / kLaunchesPerAllocation != from.allocation) continue;
    newest.launch = std::max(newest.launch, id % kLaunchesPerAllocation);
  }
  return newest;
}

std::size_t JobFolder::attempts_in_all() const {
  return attempts_in(path()).size();
}

base::Result<std::string> JobFolder::make_attempt(AttemptId id) const {
  std::string attempt = attempt_path(id);
  if (::mkdir(attempt.c_str(), 0755) != 0 && !(node_ && errno == EEXIST)) {
    return Status::io(fmt::format("{}: {}", attempt, std::strerror(errno)));
  }
  return attempt;
}

}  // namespace headway::agent
