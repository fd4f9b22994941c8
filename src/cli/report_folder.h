// A folder of files for a browser that appears whole: it is written beside its place and takes it
// at the end. It may replace an empty folder or an earlier report of ours, nothing else. Files are
// not synced: a report can be made again. One thread.
#pragma once

#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"

namespace headway::cli {

class ReportFolder {
 public:
  // An error where `path` is something that must not be replaced.
  static base::Result<ReportFolder> begin(std::string path);
  // The same question without any deed, before work is done for it.
  static base::Status check(const std::string& path);
  ReportFolder(ReportFolder&& other) noexcept;
  ReportFolder& operator=(ReportFolder&&) = delete;
  ~ReportFolder();  // takes away what was not committed

  // Names are relative to the folder and of our own making: no "..", not absolute.
  base::Status make_dir(const std::string& name);
  base::Status write(const std::string& name, std::string_view content);
  // A file in pieces: one at a time.
  base::Status open(const std::string& name);
  base::Status append(std::string_view piece);
  base::Status close();

  base::Status commit();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  ReportFolder(std::string path, std::string temporary, base::UniqueFd root)
      : path_(std::move(path)), temporary_(std::move(temporary)), root_(std::move(root)) {}
  [[nodiscard]] base::Status failed(std::string_view action, int error) const;

  std::string path_;
  std::string temporary_;  // empty: committed, or moved from
  base::UniqueFd root_;
  base::UniqueFd file_;
};

}  // namespace headway::cli
