#include "agent/replica_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "agent/python_layout.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/start_process.h"
#include "replica/abandoned.h"
#include "replica/holder.h"
#include "replica/packet_socket.h"

namespace headway::agent {
namespace {

using base::Status;
using base::UniqueFd;

constexpr std::int64_t kOldHolderWaitNs = 120 * base::kNsPerSecond;
constexpr std::int64_t kFinishWaitNs = 120 * base::kNsPerSecond;
constexpr std::int64_t kTellAfterNs = 2 * base::kNsPerSecond;
constexpr std::int64_t kShortLifeNs = base::kNsPerSecond;
constexpr int kShortLivesMax = 3;
constexpr int kLookMs = 20;
constexpr int kFirstFreeFd = 10;  // above those that the child gets
constexpr int kListenerFd = 3;
constexpr int kAliveFd = 4;
constexpr std::size_t kJobBytesMax = 40;

// Calls `waiting` once, when it has taken a while. False: time is up.
bool wait_until(const std::function<bool()>& done, std::int64_t limit_ns,
                const std::function<void()>& waiting) {
  const std::int64_t began_ns = base::monotonic_ns();
  bool told = false;
  while (!done()) {
    const std::int64_t took_ns = base::monotonic_ns() - began_ns;
    if (took_ns > limit_ns) return false;
    if (took_ns > kTellAfterNs && !told) waiting();
    told = took_ns > kTellAfterNs;
    ::poll(nullptr, 0, kLookMs);
  }
  return true;
}

bool is_unlocked(const std::string& path) {
  const UniqueFd lock(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  return !lock.valid() || ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

std::string replica_folder(const std::string& shared_memory, const std::string& job,
                           const std::string& identity) {
  return fmt::format("{}/headway-{}/{}-{:08x}", shared_memory, ::getuid(),
                     job.substr(0, kJobBytesMax), base::crc32c(identity.data(), identity.size()));
}

Status ReplicaKeeper::open(const std::string& folder, const std::function<void()>& waiting) {
  const std::string lock = folder + "/" + replica::kHolderLock;
  const std::string wanted = folder + "/" + replica::kHolderWanted;
  if (!is_unlocked(lock)) {
    // What it still sends somewhere is ours to go on with.
    (void)UniqueFd(::open(wanted.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  const bool free = wait_until([&] { return is_unlocked(lock); }, kOldHolderWaitNs, waiting);
  ::unlink(wanted.c_str());
  if (!free) return Status::io(folder + ": still in use by an earlier run");
  if (Status made = base::make_dirs(folder); !made.ok()) return made;
  auto listener = replica::listen_at(folder + "/" + replica::kHolderSocket);
  if (!listener.ok()) return listener.status();
  listener_.reset(::fcntl(listener->get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  folder_ = folder;
  return {};
}

pid_t ReplicaKeeper::start_holder() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return 0;
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const UniqueFd theirs(::fcntl(read_end.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  base::ProcessPlan plan{.argv = {own_binary(), "ckpt", "hold", folder_, "--listener-fd",
                                  fmt::to_string(kListenerFd), "--until-fd",
                                  fmt::to_string(kAliveFd)}};
  // This very program, also when its file has been replaced by another version meanwhile.
  plan.program = "/proc/self/exe";
  // Nor may it keep our output open when we are gone.
  plan.errors = {folder_ + "/" + replica::kHolderLog, true};
  plan.descriptors = {{listener_.get(), kListenerFd}, {theirs.get(), kAliveFd}};
  plan.own_session = true;
  auto pid = base::start_process(plan);
  if (!pid.ok()) {
    gave_up_ = true;
    return 0;
  }
  alive_ = std::move(write_end);
  started_ns_ = base::monotonic_ns();
  pid_ = *pid;
  return pid_;
}

bool ReplicaKeeper::on_reaped(pid_t pid, bool killed) {
  if (pid == 0 || pid != pid_) return false;
  pid_ = 0;
  const bool short_life = base::monotonic_ns() - started_ns_ < kShortLifeNs;
  short_lives_ = short_life && !killed ? short_lives_ + 1 : 0;
  gave_up_ = short_lives_ == kShortLivesMax;
  return true;
}

bool ReplicaKeeper::finish(const std::function<void()>& waiting) {
  bool uploaded = true;
  if (folder_.empty()) return uploaded;
  let_end();
  if (pid_ != 0) {
    int how = 0;
    const auto gone = [&] { return ::waitpid(pid_, &how, WNOHANG) != 0; };
    const auto upload_wait = replica::upload_wait_of(std::getenv("HEADWAY_CKPT_UPLOAD_WAIT"));
    const std::int64_t limit_ns = kFinishWaitNs + (upload_wait.ok() ? upload_wait.value() : 0);
    if (wait_until(gone, limit_ns, waiting)) {
      uploaded = !WIFEXITED(how) || WEXITSTATUS(how) != replica::kExitNotUploaded;
    }
  } else {
    // None was ever started, or it was killed and no rank has asked for another.
    replica::remove_replicas(folder_);
  }
  listener_.reset();
  folder_.clear();
  pid_ = 0;
  return uploaded;
}

}  // namespace headway::agent
