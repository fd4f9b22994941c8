// One job's folder → the facts of its attempts, as the collector would have told them: what
// `headway fleet` does for every job, in threads of this process or on the executors of a Spark
// cluster (python/src/fleet_module.cc). Reads files, and no clock: a job that still runs is told up
// to its last event. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fleet/fact.h"

namespace headway::cli {

// What is missing in a job, or that all of it is.
struct FolderNote {
  enum class Lost : std::uint8_t {
    job,      // nothing of it can be read
    file,     // left out
    records,  // of a file, which is read otherwise
  };
  Lost lost = Lost::file;
  std::string file;  // or the folder, where no file is to blame
  std::string reason;
};
[[nodiscard]] std::string_view lost_name(FolderNote::Lost lost);

struct FolderFacts {
  std::string job;                            // as its journals call it
  std::vector<fleet::AttemptFacts> attempts;  // by number; dimensions without secrets
  std::vector<FolderNote> notes;
};

// `folder`: <jobs root>/<job>. Its own job where it holds several.
[[nodiscard]] base::Result<FolderFacts> facts_of_folder(const std::string& folder);

}  // namespace headway::cli
