#include "cli/report_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/check.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
namespace fs = std::filesystem;

constexpr const char* kMark = "headway-report.json";
constexpr std::string_view kMarkText = "{\"format\": \"headway trace report\", \"version\": 1}\n";

// What a report has at its top: a folder with anything else in it holds somebody's own files.
bool is_report_entry(std::string_view name) {
  for (const std::string_view known : {"index.html", "stacks.html", "config.html", "report.css",
                                       "report.js", "compiles.js", kMark}) {
    if (name == known) return true;
  }
  if (!name.starts_with("log")) return false;
  name.remove_prefix(3);
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether a report may take the place of what is there.
Status check_place(const std::string& path) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) {
    return errno == ENOENT ? Status() : base::errno_status(path, "cannot look at", errno);
  }
  if (!S_ISDIR(facts.st_mode)) {
    return Status::invalid(fmt::format("--html {}: is not a folder; name a new one", path));
  }
  std::error_code error;
  bool empty = true, marked = false;
  std::string foreign;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    empty = false;
    marked = marked || name == kMark;
    if (foreign.empty() && !is_report_entry(name)) foreign = name;
  }
  if (error) return base::errno_status(path, "cannot list", error.value());
  if (empty) return {};
  if (marked && foreign.empty()) return {};
  return Status::invalid(
      marked ? fmt::format("--html {}: holds {} beside an earlier report; name another folder",
                           path, foreign)
             : fmt::format("--html {}: is not empty, and no report of Headway; name a new folder",
                           path));
}

}  // namespace

Status ReportFolder::check(const std::string& path) {
  return check_place(path);
}

Result<ReportFolder> ReportFolder::begin(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (Status status = check_place(path); !status.ok()) return status;
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) {
    if (Status status = base::make_dirs(parent.string()); !status.ok()) return status;
  }
  std::string temporary = fmt::format("{}.partial-{}", path, ::getpid());
  if (::mkdir(temporary.c_str(), 0777) != 0) {
    return base::errno_status(temporary, "cannot make the folder", errno);
  }
  base::UniqueFd root(::open(temporary.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return base::errno_status(temporary, "cannot open", errno);
  ReportFolder folder(std::move(path), std::move(temporary), std::move(root));
  if (Status status = folder.write(kMark, kMarkText); !status.ok()) return status;
  return folder;
}

ReportFolder::ReportFolder(ReportFolder&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      root_(std::move(other.root_)),
      file_(std::move(other.file_)) {}

ReportFolder::~ReportFolder() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

Status ReportFolder::failed(std::string_view action, int error) const {
  const Status status = base::errno_status(path_, action, error);
  if (status.code() != base::Code::no_space) return status;
  return {status.code(),
          status.message() + "; nothing was left behind: free some room, or name another disk"};
}

Status ReportFolder::make_dir(const std::string& name) {
  if (::mkdirat(root_.get(), name.c_str(), 0777) == 0) return {};
  return failed("cannot make a folder in it", errno);
}

Status ReportFolder::open(const std::string& name) {
  HW_CHECK(!file_.valid());
  file_.reset(::openat(root_.get(), name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  return file_.valid() ? Status() : failed("cannot write " + name, errno);
}

Status ReportFolder::append(std::string_view piece) {
  HW_CHECK(file_.valid());
  while (!piece.empty()) {
    const ssize_t n = ::write(file_.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("cannot write into it", errno);
    piece.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status ReportFolder::close() {
  HW_CHECK(file_.valid());
  // What a network's file system could not store it says at the end.
  return ::close(file_.release()) == 0 ? Status() : failed("cannot write into it", errno);
}

Status ReportFolder::write(const std::string& name, std::string_view content) {
  if (Status status = open(name); !status.ok()) return status;
  if (Status status = append(content); !status.ok()) return status;
  return close();
}

Status ReportFolder::commit() {
  HW_CHECK(!temporary_.empty() && !file_.valid());
  // Somebody may have put a file there meanwhile.
  if (Status status = check_place(path_); !status.ok()) return status;
  if (::rename(temporary_.c_str(), path_.c_str()) == 0) {  // nothing there, or an empty folder
    temporary_.clear();
    return {};
  }
  if (errno != ENOTEMPTY && errno != EEXIST) return failed("cannot take its place", errno);
  const std::string old = temporary_ + "-old";
  if (::rename(path_.c_str(), old.c_str()) != 0) return failed("cannot be replaced", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    (void)::rename(old.c_str(), path_.c_str());
    return failed("cannot take its place", error);
  }
  temporary_.clear();
  std::error_code ignored;
  fs::remove_all(old, ignored);
  return {};
}

}  // namespace headway::cli
