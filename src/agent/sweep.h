// Ends what the ranks left behind. The agent is a subreaper: a rank's orphaned helpers become its
// children, whatever group or session they moved to, so that a restart finds ports and devices
// free.
#pragma once

#include <sys/types.h>

#include <vector>

namespace headway::agent {

class Sweep {
 public:
  // Becomes a subreaper. Children that are there already (a shell's that became us by exec, the
  // guard) are not the job's and are spared for good.
  void start();
  // Another one that is not the job's, with what it starts; and no longer.
  void spare(pid_t pid) { spared_.push_back(pid); }
  void unspare(pid_t pid) { std::erase(spared_, pid); }
  // Kills and reaps every other descendant; returns how many it killed. Janitors (leftovers.h) are
  // left to end by themselves, unless it is `final`: then they are waited for, and killed at last.
  int kill_descendants(bool final) const;

 private:
  [[nodiscard]] std::vector<pid_t> descendants() const;
  void reap() const;

  std::vector<pid_t> spared_;
};

}  // namespace headway::agent
