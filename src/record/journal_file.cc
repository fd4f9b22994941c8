#include "record/journal_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <new>

#include "base/job_path.h"
#include "record/journal_header.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

namespace headway::record {
namespace {

using event::kHeaderBytes;

constexpr std::uint64_t mapped_bytes_min = 64 * 1024;
constexpr int names_tried_max = 100;

std::uint64_t bytes_of(std::uint64_t slots) {
  return kHeaderBytes + slots * sizeof(event::Record);
}

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
std::uint64_t page_down(std::uint64_t bytes) {
  return bytes / page_bytes() * page_bytes();
}
std::uint64_t page_up(std::uint64_t bytes) {
  return page_down(bytes + page_bytes() - 1);
}

// Growing past RLIMIT_FSIZE would raise SIGXFSZ in the trainer.
std::uint64_t within_file_size_limit(std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
  return std::min<std::uint64_t>(bytes, limit.rlim_cur);
}

// 0, EEXIST, or another errno. Never replaces.
int rename_to_new(const char* from, const char* to) {
  if (::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (::link(from, to) == 0) {
    ::unlink(from);
    return 0;
  }
  if (errno == EEXIST) return errno;
  // A file system with neither: the window between the two calls is a rank against itself.
  struct stat st{};
  if (::stat(to, &st) == 0) return EEXIST;
  return ::rename(from, to) == 0 ? 0 : errno;
}

}  // namespace

int JournalFile::create(const Settings& settings, event::HeaderFields fixed) {
  if (const int error = base::make_dirs_errno(settings.dir)) return error;
  const std::string temporary =
      settings.dir + "/" + settings.stem + "." + std::to_string(::getpid()) + ".tmp";
  ::unlink(temporary.c_str());  // of a dead process that had our pid
  fd_.reset(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd_.valid()) return errno;
  int error = map(settings.max_bytes);
  if (error == 0) {
    fixed.slots_max = slots_max_;
    finish_header(fixed);
    header_->fixed = fixed;
    header_->next_name.store(event::kOtherNameId + 1, std::memory_order_relaxed);
    header_->next_lane.store(1, std::memory_order_relaxed);
    error = grow_to(std::min(first_slots, slots_max_));
  }
  if (error == 0) error = publish(settings, temporary);
  if (error != 0) {
    ::unlink(temporary.c_str());
    if (header_ != nullptr) ::munmap(header_, mapped_bytes_);
    abandon();
  }
  return error;
}

int JournalFile::map(std::uint64_t max_bytes) {
  max_bytes = within_file_size_limit(max_bytes);
  if (max_bytes < bytes_of(1)) return EFBIG;
  if (const int error = allocate(0, kHeaderBytes)) return error;
  // Address space only; where even that is rationed (ulimit -v), a smaller journal is better than
  // none.
  for (;;) {
    const std::uint64_t bytes = page_up(max_bytes);
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (memory != MAP_FAILED) {
      ::madvise(memory, bytes, MADV_DONTDUMP);
      mapped_bytes_ = bytes;
      slots_max_ = (max_bytes - kHeaderBytes) / sizeof(event::Record);
      header_ = new (memory) event::JournalHeader;
      return 0;
    }
    if (errno != ENOMEM || max_bytes / 2 < mapped_bytes_min) return errno;
    max_bytes /= 2;
  }
}

int JournalFile::publish(const Settings& settings, const std::string& temporary) {
  const std::string stem = settings.dir + "/" + settings.stem;
  const std::string suffix(base::kJournalSuffix);
  const std::string pid = std::to_string(::getpid());
  for (int n = 0; n < names_tried_max; ++n) {
    std::string path = stem + suffix;
    if (n == 1) path = stem + "." + pid + suffix;
    if (n > 1) path = stem + "." + pid + "." + std::to_string(n) + suffix;
    const int error = rename_to_new(temporary.c_str(), path.c_str());
    if (error == EEXIST) continue;
    if (error == 0) path_ = std::move(path);
    return error;
  }
  return EEXIST;
}

// Disk behind [from, to), or an error. Only ever asked for bytes that nobody writes yet.
int JournalFile::allocate(std::uint64_t from, std::uint64_t to) {
  while (::fallocate(fd_.get(), 0, static_cast<off_t>(from), static_cast<off_t>(to - from)) != 0) {
    if (errno == EINTR) continue;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    break;
  }
  return fill(from, to);
}

// Zeros over [from, to). Where there is no fallocate() that is what gets the disk. Where there is,
// it brings the pages into memory by the megabyte: populate() alone would have each of them fetched
// by a fault of its own, several times slower (ext4: 0.5 GB/s against 2), and for that long a burst
// finds no room.
int JournalFile::fill(std::uint64_t from, std::uint64_t to) {
  static std::array<char, 64 * 1024> zeros;  // not const: costs no byte of the library that way
  std::array<iovec, 64> pieces;
  while (from < to) {
    std::size_t count = 0;
    for (std::uint64_t at = from; at < to && count < pieces.size(); ++count) {
      pieces[count] = {zeros.data(), std::min<std::uint64_t>(to - at, zeros.size())};
      at += pieces[count].iov_len;
    }
    const ssize_t n =
        ::pwritev(fd_.get(), pieces.data(), static_cast<int>(count), static_cast<off_t>(from));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    from += static_cast<std::uint64_t>(n);
  }
  return 0;
}

// Makes the pages of [from, to) writable now, so that the hot path does not meet their first fault.
int JournalFile::populate(std::uint64_t from, std::uint64_t to) {
  char* memory = reinterpret_cast<char*>(header_);
  const std::uint64_t begin = page_down(from);
  if (::madvise(memory + begin, page_up(to) - begin, MADV_POPULATE_WRITE) == 0) return 0;
  if (errno != EINVAL) return errno;
  for (std::uint64_t at = begin; at < to; at += page_bytes()) {
    std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(memory + at)).fetch_or(0);
  }
  return 0;
}

int JournalFile::grow_to(std::uint64_t slots) {
  slots = std::min(slots, slots_max_);
  const std::uint64_t old = header_->limit.load(std::memory_order_relaxed);
  if (slots <= old) return 0;
  if (const int error = allocate(bytes_of(old), bytes_of(slots))) return error;
  if (const int error = populate(bytes_of(old), bytes_of(slots))) return error;
  header_->limit.store(slots, std::memory_order_release);
  return 0;
}

void JournalFile::seal() {
  const std::uint64_t end =
      header_->cursor.fetch_or(event::kSealedBit, std::memory_order_acq_rel) & ~event::kSealedBit;
  header_->closed.store(1, std::memory_order_release);
  // Where this fails, zeros stay at the end, which a reader passes over.
  [[maybe_unused]] const int cut = ::ftruncate(fd_.get(), static_cast<off_t>(bytes_of(end)));
  release_mapping();
  fd_.reset();
}

void JournalFile::close_shared() {
  header_->closed.store(1, std::memory_order_release);
  release_mapping();
  fd_.reset();
}

void JournalFile::abandon() {
  header_ = nullptr;
  fd_.reset();
}

// What lies beyond the limit was never handed out and can go, since only the creator raises the
// limit; the rest only gives its pages back.
void JournalFile::release_mapping() {
  if (header_ == nullptr) return;
  char* memory = reinterpret_cast<char*>(header_);
  const std::uint64_t keep =
      std::min(page_up(bytes_of(header_->limit.load(std::memory_order_relaxed))), mapped_bytes_);
  if (keep < mapped_bytes_) ::munmap(memory + keep, mapped_bytes_ - keep);
  ::madvise(memory, keep, MADV_DONTNEED);
  header_ = nullptr;
}

}  // namespace headway::record
