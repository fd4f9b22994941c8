// Which checkpoint a path means to the verbs of `headway ckpt`. Where it is the newest good one of
// a folder, and reading shows that it is damaged, it is the next one. Those that are passed over
// are told on stderr.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/load.h"

namespace headway::cli {

class CheckpointSearch {
 public:
  explicit CheckpointSearch(std::string given) : given_(std::move(given)) {}
  base::Result<std::string> next();
  // True: ask for the next one.
  [[nodiscard]] bool passes_over(const base::Status& status);
  // What `use` makes of the first one that it finds no damage in.
  template <typename Use>
  auto use_next(const Use& use) -> decltype(use(std::string())) {
    for (;;) {
      auto path = next();
      if (!path.ok()) return path.status();
      auto done = use(*path);
      if (done.ok() || !passes_over(done.status())) return done;
    }
  }
  // Of those that were passed over, once another was found: where there is none, one line says all.
  void tell() const;

 private:
  const std::string given_;
  std::string tried_;
  std::vector<std::string> passed_;
};
// What `use` makes of the checkpoint that a path means.
template <typename Use>
auto use_checkpoint(const std::string& given, const Use& use) -> decltype(use(given)) {
  CheckpointSearch search(given);
  auto done = search.use_next(use);
  if (done.ok()) search.tell();
  return done;
}
using OpenCheckpoint = std::unique_ptr<checkpoint::CheckpointReader>;
base::Result<OpenCheckpoint> open_checkpoint(CheckpointSearch& search);

}  // namespace headway::cli
