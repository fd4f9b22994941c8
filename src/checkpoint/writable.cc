#include "checkpoint/writable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>

#include "base/file.h"

namespace headway::checkpoint {
namespace {

// The folder itself, or the nearest above it that is there.
std::string nearest(std::string path) {
  struct stat info{};
  while (::stat(path.c_str(), &info) != 0) {
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    if (slash == 0) return "/";
    path.resize(slash);
  }
  return path;
}

std::string user_name(uid_t uid) {
  std::array<char, 4096> room{};
  struct passwd entry{};
  struct passwd* found = nullptr;
  const bool known = ::getpwuid_r(uid, &entry, room.data(), room.size(), &found) == 0 &&
                     found != nullptr && *found->pw_name != '\0';
  return known ? found->pw_name : fmt::format("user {}", uid);
}

bool is_immutable(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  int flags = 0;
  return fd.valid() && ::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) == 0 &&
         (flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)) != 0;
}

}  // namespace

std::string unwritable_advice(const std::string& folder) {
  const std::string at = nearest(folder);
  struct stat info{};
  struct statvfs system{};
  if (::stat(at.c_str(), &info) != 0) return {};
  if (!S_ISDIR(info.st_mode)) {
    return fmt::format("; {} is a file: remove it, or name another folder", at);
  }
  if (::statvfs(at.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0) {
    return fmt::format("; {} is mounted read-only: mount it for writing, or name another folder",
                       at);
  }
  if (is_immutable(at)) {
    return fmt::format(
        "; {0} may not be changed (lsattr -d {0}): chattr -i -a {0}, or name "
        "another folder",
        at);
  }
  if (::access(at.c_str(), W_OK | X_OK) == 0) return {};
  return fmt::format(
      "; {} belongs to {} (mode {:o}), and this process is {}: have it made "
      "writable (chown, chmod), or name another folder",
      at, user_name(info.st_uid), info.st_mode & 07777u, user_name(::geteuid()));
}

base::Status with_unwritable_advice(const base::Status& status, const std::string& folder) {
  if (status.ok() || status.code() == base::Code::no_space) return status;
  return {status.code(), status.message() + unwritable_advice(folder)};
}

}  // namespace headway::checkpoint
