#include "checkpoint/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "checkpoint/writable.h"

namespace headway::checkpoint {
namespace {

constexpr std::size_t kOwnerBytesMax = 512;

std::string owner_text(const std::string& purpose) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return fmt::format("{}, pid {} on {}", purpose, ::getpid(), host.data());
}

// What the owner wrote. It may be about to.
std::string owner_of(int fd) {
  std::string text(kOwnerBytesMax, '\0');
  const long got = base::pread_full(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  text.resize(std::min(text.find('\n'), text.size()));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return text.empty() ? "somebody" : text;
}

}  // namespace

FolderLock::FolderLock(base::UniqueFd fd) : fd_(std::move(fd)), owner_(::getpid()) {}

FolderLock::~FolderLock() {
  if (fd_.valid() && owner_ == ::getpid()) (void)::flock(fd_.get(), LOCK_UN);
}

base::Result<FolderLock> FolderLock::take(const std::string& folder, const std::string& purpose,
                                          const std::string& name) {
  const std::string path = folder + "/" + name;
  base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid() && errno == ENOENT) {
    return base::Status::not_found(folder + ": there is no such folder");
  }
  if (!fd.valid()) {
    return with_unwritable_advice(base::errno_status(folder, "cannot be locked for writing", errno),
                                  folder);
  }
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return base::errno_status(path, "lock", errno);
    return base::Status::invalid(
        fmt::format("{}: in use by {}; wait until that has ended, or name another folder", folder,
                    owner_of(fd.get())));
  }
  const std::string text = owner_text(purpose) + "\n";
  // A full disk is a reason to prune, not to refuse it: the lock holds without the note.
  const bool noted =
      ::ftruncate(fd.get(), 0) == 0 && ::pwrite(fd.get(), text.data(), text.size(), 0) > 0;
  (void)noted;
  return FolderLock(std::move(fd));
}

bool FolderLock::is_at(const std::string& folder) const {
  struct stat ours{}, there{};
  return owner_ == ::getpid() && ::fstat(fd_.get(), &ours) == 0 &&
         ::stat((folder + "/.lock").c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
         ours.st_ino == there.st_ino;
}

}  // namespace headway::checkpoint
