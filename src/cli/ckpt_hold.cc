// headway ckpt hold: keeps the replicas of this machine's trainers where `headway run` does not.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/duration.h"
#include "base/file.h"
#include "checkpoint/remote_archive.h"
#include "cli/ckpt.h"
#include "cli/verb.h"
#include "replica/holder.h"

namespace headway::cli {
namespace {

using base::Status;

constexpr std::int64_t kLongestS = 7 * 24 * 3600;

struct HoldOptions {
  std::string folder;
  std::string orphan = "10s";
  std::string linger = "10m";
  // The agent's: its socket, and a pipe that ends with it.
  int listener_fd = -1;
  int until_fd = -1;
};

// The signals that ask for an end, as a descriptor. SIGHUP does not: the terminal may go.
base::UniqueFd stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of one save
  return base::UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Status hold(const HoldOptions& given, bool& uploaded) {
  replica::HolderOptions options;
  options.folder = given.folder;
  const auto orphan = base::parse_time_option("--orphan", given.orphan, 0, kLongestS);
  const auto linger = base::parse_time_option("--linger", given.linger, 0, kLongestS);
  if (!orphan.ok()) return orphan.status();
  if (!linger.ok()) return linger.status();
  options.orphan_ns = orphan.value();
  options.linger_ns = linger.value();
  if (given.until_fd >= 0) {
    options.orphan_ns = -1;
    options.linger_ns = -1;
    ::fcntl(given.until_fd, F_SETFD, FD_CLOEXEC);
  }
  if (given.listener_fd >= 0) {
    ::fcntl(given.listener_fd, F_SETFD, FD_CLOEXEC);
    options.listener.reset(given.listener_fd);
  }
  options.note = [](const std::string& text) { fmt::print(stderr, "headway: {}\n", text); };
  options.open_archive = checkpoint::open_archive;
  const auto upload_wait = replica::upload_wait_of(std::getenv("HEADWAY_CKPT_UPLOAD_WAIT"));
  if (upload_wait.ok()) {
    options.upload_wait_ns = upload_wait.value();
  } else {
    options.note(upload_wait.status().message());
  }
  const base::UniqueFd stop = stop_signals();  // before any thread: they inherit the mask
  auto holder = replica::Holder::open(std::move(options));
  if (!holder.ok()) return holder.status();
  const Status status = (*holder)->run(given.until_fd >= 0 ? given.until_fd : stop.get());
  uploaded = (*holder)->all_uploaded();
  return status;
}

}  // namespace

void add_ckpt_hold(Verb& ckpt, int& exit_code) {
  auto* verb = ckpt.add_verb(
      "hold", "Keep the replicas of this machine's trainers, where `headway run` does not");
  auto given = std::make_shared<HoldOptions>();
  verb->add_option("FOLDER", given->folder, "Where they lie: a folder in shared memory")
      ->required();
  verb->add_option("--orphan", given->orphan,
                   "With no trainer for so long, the newest step is written to disk (10s)");
  verb->add_option("--linger", given->linger,
                   "With no trainer for so long, the memory is given back (10m)");
  verb->add_option("--listener-fd", given->listener_fd)->hidden();
  verb->add_option("--until-fd", given->until_fd)->hidden();
  verb->footer(
      "hw.checkpointer() starts it by itself; there is rarely a reason to.\n"
      "\n"
      "Example:\n"
      "  headway ckpt hold /dev/shm/headway-1000/myjob --linger 1h");
  verb->callback([given, &exit_code] {
    bool uploaded = true;
    const Status status = hold(*given, uploaded);
    exit_code = uploaded ? kExitOk : replica::kExitNotUploaded;
    if (!status.ok()) exit_code = fail_cleanly(status);
  });
}

}  // namespace headway::cli
