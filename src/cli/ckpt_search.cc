#include "cli/ckpt_search.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "checkpoint/look.h"
#include "cli/ckpt.h"
#include "cli/human.h"

namespace headway::cli {

using base::Result;
using base::Status;
using checkpoint::CheckpointReader;

Result<std::string> CheckpointSearch::next() {
  if (Status status = check_local(given_); !status.ok()) return status;
  auto found = checkpoint::find_checkpoint(base::real_file_system(), given_, passed_, tried_);
  if (found.ok()) tried_ = *found;
  return found;
}

bool CheckpointSearch::passes_over(const Status& status) {
  const std::string folder = checkpoint::without_last_slash(given_);
  const bool is_folder = base::folder_of(tried_) == folder && tried_ != folder;
  if (!is_folder || status.code() != base::Code::corrupt) return false;
  const bool named = status.message().starts_with(tried_);
  passed_.push_back(named ? status.message() : tried_ + ": " + status.message());
  return true;
}

void CheckpointSearch::tell() const {
  const Style style = choose_style(probe_output(STDERR_FILENO), ColorWhen::never, {});
  for (const std::string& why : passed_) {
    fmt::print(stderr, "headway: passed over: {}\n", clean(why, style));
  }
}

Result<OpenCheckpoint> open_checkpoint(CheckpointSearch& search) {
  return search.use_next([](const std::string& path) {
    return CheckpointReader::open(base::real_file_system(), path);
  });
}

}  // namespace headway::cli
