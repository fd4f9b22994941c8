// A shelf in the life of one job: what fits it is unpacked before its ranks start, what they add is
// packed, signed and put there. Belongs to a process beside the job, never to a trainer or to who
// watches it: both calls may take as long as the shelf does. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cache/keys.h"
#include "cache/pgo.h"
#include "cache/scan.h"
#include "cache/share.h"
#include "cache/shelf.h"
#include "cache/unpack.h"

namespace headway::cache {

struct JobCachePlan {
  std::string directory;        // of torch's compiler; made where it is not there
  bool only_additions = false;  // what was in it before is not this job's to give away
  Binding binding;
  Trust trust;
  std::optional<SigningKey> key;  // none: nothing is put on the shelf
  std::optional<PgoRule> pgo;
  PullLimits limits;
  std::string scratch;  // an empty folder
  std::size_t threads = 2;
  std::size_t merge_min = 16;  // so many archives of our own key become one; 0: none do
  std::optional<std::uint64_t> shelf_bytes_max{};  // of a shelf that is nobody else's
  // torch's command lines for a compiler (rekey.h), for archives that are of use at another path of
  // the environment. Asked once at most, when there is a library to pack, and not where an archive
  // that was pulled tells them. Takes seconds; empty: they are not known.
  std::function<std::vector<std::string>()> ask_commands{};
};

struct JobPulled {
  std::size_t archives = 0;
  std::uint64_t bytes = 0;  // of them
  std::size_t written = 0;
  std::uint64_t written_bytes = 0;
  std::size_t same = 0;            // were in the directory already
  std::vector<std::string> notes;  // what was passed over, and why
};

struct JobPushed {
  std::size_t files = 0;      // 0: there was nothing that the shelf lacked
  std::size_t passed_on = 0;  // of them: pulled from what the shelf holds for others
  std::uint64_t raw_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::size_t merged = 0;  // archives that became one
  std::string place;
  std::vector<std::string> notes;
};

class JobCache {
 public:
  // The shelf outlives it.
  JobCache(Shelf& shelf, JobCachePlan plan) : shelf_(shelf), plan_(std::move(plan)) {}
  JobCache(const JobCache&) = delete;
  JobCache& operator=(const JobCache&) = delete;

  // Once, before anything is pushed.
  base::Result<JobPulled> pull();
  // What is in the directory and, as far as is known, not on the shelf.
  base::Result<JobPushed> push();

 private:
  struct Known {
    std::uint64_t bytes = 0;
    bool any_bytes = false;  // its file has other bytes than its entry: relocate.h
    std::optional<base::Sha256> sha256{};
  };
  using KnownFiles = std::map<std::string, Known>;  // by path
  base::Result<Pulled> fetch();
  [[nodiscard]] bool has_changed(const Pulled& pulled);
  base::Result<Unpacked> unpack(const Pulled& pulled);
  void note_shelved(const Pulled& pulled, const Renamed& renamed);
  [[nodiscard]] const std::vector<std::string>& commands();
  [[nodiscard]] Scan present() const;
  void remove_damaged(const Scan& before, JobPulled& done);
  void note_states(const Scan& before, const Pulled& pulled);
  // As it is in the directory now.
  void note(const std::string& path, Kind kind, std::uint64_t bytes);
  [[nodiscard]] std::optional<base::Sha256> digest_of(const std::string& path) const;
  [[nodiscard]] bool is_in(const KnownFiles& files, const CacheFile& file) const;
  void thin_out(JobPushed& done);

  Shelf& shelf_;
  const JobCachePlan plan_;
  KnownFiles known_;      // on the shelf for ours, or not ours to give away
  KnownFiles of_others_;  // on the shelf, where the next job of ours does not look first
  std::optional<std::vector<std::string>> commands_;
  std::size_t packed_ = 0;
};

}  // namespace headway::cache
