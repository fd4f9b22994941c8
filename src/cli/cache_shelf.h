// Opening the place that a person named as a shelf of archives, and a folder for what is fetched.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "cache/shelf.h"

namespace headway::cli {

// A shelf and what it stands on.
struct OpenShelf {
  std::shared_ptr<void> store;  // keeps the object store's side alive
  std::unique_ptr<cache::Shelf> shelf;
};
// A folder, s3://bucket/prefix, or a collector, http://host:8743.
base::Result<OpenShelf> open_shelf(const std::string& place);
// It is in a store or on a collector, where machines share it that have no folder in common.
[[nodiscard]] bool is_remote_shelf(const std::string& place);
// Is it a folder that is not there? As a shelf it is empty; a store has no folders.
[[nodiscard]] bool is_missing_folder(const std::string& place);

// A folder of its own that goes away with it.
class ScratchFolder {
 public:
  static base::Result<std::unique_ptr<ScratchFolder>> make();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

}  // namespace headway::cli
