#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace headway::base {

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) {
    const int saved = errno;
    ::close(fd_);
    errno = saved;
  }
  fd_ = fd;
}

Status errno_status(std::string_view path, std::string_view action, int error) {
  std::string message = std::string(path) + ": " + std::string(action) + ": " +
                        std::strerror(error) + " (errno " + std::to_string(error) + ")";
  const bool full = error == ENOSPC || error == EDQUOT;
  const Code code = error == ENOENT ? Code::not_found : full ? Code::no_space : Code::io_error;
  return {code, std::move(message)};
}

int make_dirs_errno(const std::string& path) {
  if (path.empty()) return ENOENT;
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
      // An ancestor may be read-only or not ours and yet be there.
      const int error = errno;
      struct stat st{};
      if (::stat(part.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return error;
    }
    if (end == std::string::npos) break;
  }
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return errno;
  return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

Status make_dirs(const std::string& path) {
  const int error = make_dirs_errno(path);
  return error == 0 ? Status{} : errno_status(path, "cannot make the folder", error);
}

long pread_full(int fd, void* data, std::size_t bytes, std::size_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(fd, static_cast<char*>(data) + done, bytes - done,
                              static_cast<off_t>(offset + done));
    if (n < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<long>(done);
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return errno_status(path, "cannot open", errno);
  // /proc files say that they are empty, so the size is found by reading.
  std::string content;
  constexpr std::size_t kStep = 64 * 1024;
  while (content.size() <= bytes_max) {
    const std::size_t old = content.size();
    content.resize(old + kStep);
    const ssize_t n = ::read(fd.get(), content.data() + old, kStep);
    if (n < 0 && errno != EINTR) return errno_status(path, "cannot read", errno);
    content.resize(old + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0) return content;
  }
  return Status::invalid(path + ": is longer than " + std::to_string(bytes_max) + " bytes");
}

Status write_file_atomic(const std::string& path, std::string_view content) {
  const std::string temporary = path + "." + std::to_string(::getpid()) + ".tmp";
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) return errno_status(path, "cannot create", errno);
  const auto abandon = [&](std::string_view action, int error) {
    ::unlink(temporary.c_str());
    return errno_status(path, action, error);
  };
  while (!content.empty()) {
    const ssize_t n = ::write(fd.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return abandon("cannot write", errno);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd.get()) != 0) return abandon("cannot sync", errno);
  fd.reset();
  if (::rename(temporary.c_str(), path.c_str()) != 0) return abandon("cannot rename", errno);
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const UniqueFd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dir.valid()) ::fsync(dir.get());  // some file systems cannot sync a folder: not an error
  return {};
}

namespace {

// What an entry is; asks the file system only where the folder does not say.
unsigned char type_of(const dirent& entry, const std::string& path) {
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return entry.d_type;
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return DT_UNKNOWN;
  return S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
}

Status list_into(const std::string& dir, std::string_view suffix, int depth_left,
                 std::size_t files_max, std::size_t& entries_left,
                 std::vector<std::string>& files) {
  DIR* handle = ::opendir(dir.c_str());
  if (handle == nullptr) return errno_status(dir, "cannot list", errno);
  Status status;
  while (const dirent* entry = ::readdir(handle)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entries_left-- == 0) {
      entries_left = 0;
      status = Status::invalid(dir + ": is among more than " + std::to_string(list_entries_max) +
                               " files; name the job's folder");
      break;
    }
    const std::string path = dir + "/" + std::string(name);
    const unsigned char type = type_of(*entry, path);
    if (type == DT_DIR) {
      // A folder that vanished or may not be read hides only its own files.
      if (depth_left > 0) {
        status = list_into(path, suffix, depth_left - 1, files_max, entries_left, files);
        if (status.code() == Code::invalid_input) break;
        status = {};
      }
    } else if (type == DT_REG && name.ends_with(suffix)) {
      if (files.size() >= files_max) {
        status = Status::invalid(dir + ": holds more than " + std::to_string(files_max) +
                                 " files; name a folder below it");
        break;
      }
      files.push_back(path);
    }
  }
  ::closedir(handle);
  return status;
}

}  // namespace

Result<std::vector<std::string>> list_files(const std::string& dir, std::string_view suffix,
                                            int depth_max, std::size_t files_max) {
  std::vector<std::string> files;
  std::size_t entries_left = list_entries_max;
  if (Status status = list_into(dir, suffix, depth_max, files_max, entries_left, files);
      !status.ok()) {
    return status;
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace headway::base
