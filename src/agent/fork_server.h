// The fork server as the agent sees it: a Python that has imported what the script imports, and
// forks ranks on request. python/headway/_warm is the other end; docs/formats/warm.md the talk.
//
// Never needed: whoever asks for ranks must be ready to start them plainly when the answer is
// `unfit` or `gone`. Main thread only; nothing here blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/environment.h"
#include "agent/signals.h"
#include "agent/spawn.h"
#include "base/file.h"
#include "base/status.h"

namespace headway::agent {

class ForkServer {
 public:
  // A rank to fork. Its descriptors are stdin, stdout and stderr; -1: as the server's own.
  struct Request {
    int rank = 0;
    Environment environment;
    int streams[3] = {-1, -1, -1};
  };
  struct Reply {
    enum class Kind {
      ready,    // `modules` are imported
      started,  // `rank` is process `pid`, which will be ours
      unfit,    // `text` says why no rank can be forked
      gone      // the server has ended
    };
    Kind kind = Kind::gone;
    int rank = 0;
    pid_t pid = 0;
    std::uint64_t modules = 0;
    // Of a run's first `ready`: modules of --preload that cannot be imported, and why.
    std::vector<std::pair<std::string, std::string>> failed;
    std::string text;
  };

  ForkServer() = default;
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;
  ~ForkServer() { stop(); }

  // `plan` as of a rank, without an identity.
  base::Status start(SpawnPlan plan, const Signals& signals);
  // Kills it. Ranks that it has forked live on.
  void stop();
  [[nodiscard]] bool alive() const { return channel_.valid(); }
  // Readable when next() has something to say.
  [[nodiscard]] int fd() const { return channel_.get(); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Somebody's wait has taken its exit: the number is no longer its own.
  void on_reaped(pid_t pid) {
    if (pid == pid_) pid_ = 0;
  }

  // In order of their index; a reply for each follows. A failure is the server's end.
  base::Status ask(const std::vector<Request>& ranks, bool own_groups);
  std::optional<Reply> next();

 private:
  base::Status send(const std::vector<Request>& ranks, std::size_t first, std::size_t end,
                    bool own_groups);

  base::UniqueFd channel_;
  pid_t pid_ = 0;
  bool was_ready_ = false;   // this one or one before it
  Environment environment_;  // what the server has; ranks are told the difference
};

// Does this interpreter come by our hook before it runs a program? Where it does not (python -I, a
// wrapper that cleans the environment) a fork server would run the script itself.
bool honours_hook(SpawnPlan plan, const Signals& signals);

}  // namespace headway::agent
