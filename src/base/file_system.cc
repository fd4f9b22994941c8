#include "base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file.h"

namespace headway::base {
namespace {

constexpr std::size_t kEntriesMax = 1'000'000;
constexpr int kMakeAgain = 100;

bool is_aligned(std::uint64_t offset, std::span<const std::byte> data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data.data());
  return (offset | data.size() | address) % direct_alignment == 0;
}

class RealOutput final : public OutputFile {
 public:
  RealOutput(std::string path, UniqueFd cached, UniqueFd direct)
      : path_(std::move(path)), cached_(std::move(cached)), direct_(std::move(direct)) {}

  Status write(std::uint64_t offset, std::span<const std::byte> data) override {
    if (direct_.valid()) {
      // The aligned front past the cache, the rest behind it.
      const std::size_t front = data.size() - data.size() % direct_alignment;
      if (front > 0 && is_aligned(offset, data.first(front))) {
        if (const int error = write_by(direct_.get(), offset, data.first(front)); error == 0) {
          offset += front;
          data = data.subspan(front);
        } else if (error == EINVAL) {
          direct_.reset();  // this file system says yes at open and no at write
        } else {
          return errno_status(path_, "write", error);
        }
      }
    }
    const int error = write_by(cached_.get(), offset, data);
    return error == 0 ? Status() : errno_status(path_, "write", error);
  }

  void begin_write_back(std::uint64_t offset, std::uint64_t bytes) override {
    (void)::sync_file_range(cached_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                            SYNC_FILE_RANGE_WRITE);
  }

  Status sync() override {
    return ::fdatasync(cached_.get()) == 0 ? Status() : errno_status(path_, "fdatasync", errno);
  }

  Status close() override {
    direct_.reset();
    if (!cached_.valid()) return {};
    return ::close(cached_.release()) == 0 ? Status() : errno_status(path_, "close", errno);
  }

 private:
  static int write_by(int fd, std::uint64_t offset, std::span<const std::byte> data) {
    while (!data.empty()) {
      const ssize_t wrote = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return errno;
      if (wrote == 0) return ENOSPC;
      offset += static_cast<std::uint64_t>(wrote);
      data = data.subspan(static_cast<std::size_t>(wrote));
    }
    return 0;
  }

  const std::string path_;
  UniqueFd cached_;
  UniqueFd direct_;  // of the same file; invalid: not wanted, or not to be had
};

class RealInput final : public InputFile {
 public:
  RealInput(std::string path, UniqueFd fd, UniqueFd direct, std::uint64_t bytes)
      : path_(std::move(path)), fd_(std::move(fd)), direct_(std::move(direct)), bytes_(bytes) {}

  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }
  Status read(std::uint64_t offset, std::span<std::byte> into) override {
    const std::size_t front = into.size() - into.size() % direct_alignment;
    if (direct_.valid() && front > 0 && is_aligned(offset, into.first(front))) {
      const long got = pread_full(direct_.get(), into.data(), front, offset);
      if (got < 0 && errno == EINVAL) {
        direct_.reset();  // this file system says yes at open and no at read
      } else if (got < 0) {
        return errno_status(path_, "read", errno);
      } else if (static_cast<std::size_t>(got) == front) {
        offset += front;
        into = into.subspan(front);
      }  // else it ends early: the way through the cache says where
    }
    const long got = pread_full(fd_.get(), into.data(), into.size(), offset);
    if (got < 0) return errno_status(path_, "read", errno);
    if (static_cast<std::size_t>(got) == into.size()) return {};
    return Status::corrupt(path_ + ": ends at byte " +
                           std::to_string(offset + static_cast<std::uint64_t>(got)) + ", " +
                           std::to_string(into.size()) + " bytes were expected from byte " +
                           std::to_string(offset) + " on");
  }

 private:
  const std::string path_;
  UniqueFd fd_;
  UniqueFd direct_;  // of the same file; invalid: not wanted, or not to be had
  const std::uint64_t bytes_;
};

class RealFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                             const CreateOptions& options) override {
    const mode_t mode = options.executable ? 0755 : 0644;
    UniqueFd cached(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!cached.valid()) return errno_status(path, "create", errno);
    if (options.bytes > 0) {
      const int error = ::posix_fallocate(cached.get(), 0, static_cast<off_t>(options.bytes));
      if (error != 0 && error != EOPNOTSUPP && error != EINVAL) {
        ::unlink(path.c_str());
        return errno_status(path, "allocate", error);
      }
    }
    UniqueFd direct;
    if (options.direct) direct.reset(::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
    return std::unique_ptr<OutputFile>(
        std::make_unique<RealOutput>(path, std::move(cached), std::move(direct)));
  }

  Result<std::unique_ptr<OutputFile>> reopen(const std::string& path) override {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid()) return errno_status(path, "open", errno);
    return std::unique_ptr<OutputFile>(
        std::make_unique<RealOutput>(path, std::move(fd), UniqueFd()));
  }

  Result<std::unique_ptr<InputFile>> open(const std::string& path) override {
    return open_by(path, false);
  }
  Result<std::unique_ptr<InputFile>> open_direct(const std::string& path) override {
    return open_by(path, true);
  }

  Status make_folder(const std::string& path) override {
    // Again: what was in the way may be gone when it is looked at, if others remove such folders.
    for (int i = 0; i < kMakeAgain; ++i) {
      if (::mkdir(path.c_str(), 0755) == 0) return {};
      const int error = errno;
      struct stat info{};
      if (error == EEXIST && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
      const bool gone = error == EEXIST && ::lstat(path.c_str(), &info) != 0 && errno == ENOENT;
      if (!gone) return errno_status(path, "mkdir", error);
    }
    return errno_status(path, "mkdir", ENOENT);
  }

  Status rename(const std::string& from, const std::string& to) override {
    return ::rename(from.c_str(), to.c_str()) == 0 ? Status() : errno_status(to, "rename", errno);
  }
  Status remove_file(const std::string& path) override {
    return ::unlink(path.c_str()) == 0 ? Status() : errno_status(path, "remove", errno);
  }
  Status remove_folder(const std::string& path) override {
    return ::rmdir(path.c_str()) == 0 ? Status() : errno_status(path, "remove", errno);
  }

  Status sync_folder(const std::string& path) override {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return errno_status(path, "open", errno);
    return ::fsync(fd.get()) == 0 ? Status() : errno_status(path, "fsync", errno);
  }

  Result<std::vector<FolderEntry>> list(const std::string& path) override {
    DIR* folder = ::opendir(path.c_str());
    if (folder == nullptr && errno == ENOENT) {
      return Status::not_found(path + ": there is no such folder");
    }
    if (folder == nullptr && errno == ENOTDIR) return Status::io(path + ": a file, not a folder");
    if (folder == nullptr) return errno_status(path, "open", errno);
    std::vector<FolderEntry> entries;
    errno = 0;
    while (const dirent* entry = ::readdir(folder)) {
      const std::string name = entry->d_name;
      if (name == "." || name == ".." || entries.size() == kEntriesMax) continue;
      entries.push_back(entry_of(::dirfd(folder), name));
      errno = 0;
    }
    const int error = errno;
    ::closedir(folder);
    if (error != 0) return errno_status(path, "list", error);
    std::sort(entries.begin(), entries.end(),
              [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
    return entries;
  }

 private:
  static Result<std::unique_ptr<InputFile>> open_by(const std::string& path, bool direct) {
    // A pipe that somebody put there must not hold us up: it is refused below.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return errno_status(path, "open", errno);
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) return errno_status(path, "stat", errno);
    if (!S_ISREG(info.st_mode)) return Status::invalid(path + ": not a file");
    // By the first one's number: the name may lead elsewhere by now.
    UniqueFd past;
    if (direct) {
      const std::string same = "/proc/self/fd/" + std::to_string(fd.get());
      past.reset(::open(same.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    }
    return std::unique_ptr<InputFile>(std::make_unique<RealInput>(
        path, std::move(fd), std::move(past), static_cast<std::uint64_t>(info.st_size)));
  }

  static FolderEntry entry_of(int folder, const std::string& name) {
    FolderEntry entry{.name = name};
    struct stat info{};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return entry;
    entry.is_link = S_ISLNK(info.st_mode);
    if (entry.is_link && ::fstatat(folder, name.c_str(), &info, 0) != 0) return entry;
    entry.is_folder = S_ISDIR(info.st_mode);
    entry.is_special = !S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode);
    entry.is_executable = S_ISREG(info.st_mode) && (info.st_mode & S_IXUSR) != 0;
    entry.modified_ns =
        static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
    if (S_ISREG(info.st_mode)) entry.bytes = static_cast<std::uint64_t>(info.st_size);
    return entry;
  }
};

}  // namespace

FileSystem& real_file_system() {
  static RealFileSystem files;
  return files;
}

Result<std::string> read_all(FileSystem& files, const std::string& path, std::uint64_t bytes_max) {
  auto file = files.open(path);
  if (!file.ok()) return file.status();
  const std::uint64_t bytes = (*file)->bytes();
  if (bytes > bytes_max) {
    return Status::corrupt(path + ": " + std::to_string(bytes) + " bytes, at most " +
                           std::to_string(bytes_max) + " make sense");
  }
  std::string text(static_cast<std::size_t>(bytes), '\0');
  Status status = (*file)->read(0, std::as_writable_bytes(std::span(text)));
  if (!status.ok()) return status;
  return text;
}

Status replace_file(FileSystem& files, const std::string& path,
                    std::span<const std::byte> content) {
  const std::string temporary = path + ".tmp";
  (void)files.remove_file(temporary);  // of one who died here; if it cannot go, create says so
  auto file = files.create(temporary, {});
  if (!file.ok()) return file.status();
  Status status = (*file)->write(0, content);
  if (status.ok()) status = (*file)->sync();
  if (Status closed = (*file)->close(); status.ok()) status = closed;
  if (status.ok()) status = files.rename(temporary, path);
  if (!status.ok()) {
    (void)files.remove_file(temporary);
    return status;
  }
  return files.sync_folder(folder_of(path));
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace headway::base
