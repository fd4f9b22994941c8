#include "replica/slot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "replica/copy_team.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace headway::replica {
namespace {

using base::Result;
using base::Status;

constexpr char kMagic[8] = {'H', 'W', 'S', 'L', 'O', 'T', '0', '3'};
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kAllocateStep = 64 << 20;
constexpr std::size_t kPopulateStep = 2 << 20;

// One more than whole chunks: each of the two parts may end in a short one.
std::uint64_t checksums_max(std::uint64_t capacity) {
  return capacity / chunk_bytes + 2;
}
std::uint64_t image_begin(std::uint64_t capacity) {
  const std::uint64_t bytes = kPage + checksums_max(capacity) * sizeof(std::uint32_t);
  return (bytes + kPage - 1) / kPage * kPage;
}
std::uint64_t file_bytes(std::uint64_t capacity) {
  return image_begin(capacity) + capacity;
}

bool fit(const Range& own, const Range& rest, std::uint64_t capacity) {
  return own.begin == 0 && own.end <= rest.begin && rest.begin <= rest.end && rest.end <= capacity;
}

}  // namespace

std::string_view name_of(SlotState state) {
  constexpr std::string_view kNames[] = {"empty", "writing",  "sealed", "pinned",
                                         "live",  "applying", "gone"};
  const auto index = static_cast<std::size_t>(state);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

struct Slot::Header {
  char magic[8];
  std::uint64_t capacity;
  std::atomic<std::uint32_t> state;
  std::uint32_t checksums_crc;  // of the table, as far as it is used
  std::uint32_t facts_crc;      // of the facts and of checksums_crc
  std::uint32_t unused;
  SlotFacts facts;

  [[nodiscard]] std::uint32_t crc() const {
    return base::crc32c(&facts, sizeof facts, base::crc32c(&checksums_crc, sizeof checksums_crc));
  }
};

Slot::Slot(std::string path, base::UniqueFd fd, std::byte* memory, std::size_t bytes,
           std::uint64_t capacity)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      memory_(memory),
      bytes_(bytes),
      capacity_(capacity),
      header_(reinterpret_cast<Header*>(memory)),
      image_(memory + image_begin(capacity)) {
  static_assert(offsetof(Header, magic) == 0 && offsetof(Header, capacity) == 8);
  static_assert(sizeof(Header) <= kPage && std::atomic<std::uint32_t>::is_always_lock_free);
  static_assert(std::has_unique_object_representations_v<SlotFacts>, "padding would be summed");
}

Slot::~Slot() {
  ::munmap(memory_, bytes_);
}

Result<std::shared_ptr<Slot>> Slot::map(const std::string& path, base::UniqueFd fd,
                                        std::uint64_t bytes, std::uint64_t capacity) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return base::errno_status(path, "map", errno);
  return std::shared_ptr<Slot>(
      new Slot(path, std::move(fd), static_cast<std::byte*>(memory), bytes, capacity));
}

bool Slot::is_intact() const {
  struct stat info{};
  return ::fstat(fd_.get(), &info) == 0 && info.st_nlink > 0 &&
         static_cast<std::uint64_t>(info.st_size) == bytes_;
}

Result<std::shared_ptr<Slot>> Slot::create(const std::string& path, std::uint64_t image_bytes) {
  const std::uint64_t capacity = (image_bytes + kPage - 1) / kPage * kPage;
  if (capacity > slot_image_bytes_max) {
    return Status::invalid(fmt::format("{}: an image of {} bytes is too large", path, image_bytes));
  }
  base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return base::errno_status(path, "create", errno);
  const std::uint64_t bytes = file_bytes(capacity);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return base::errno_status(path, "resize", errno);
  }
  // Written and not stored through the mapping: where memory is full that is an error, no SIGBUS.
  char front[sizeof kMagic + sizeof capacity];
  std::memcpy(front, kMagic, sizeof kMagic);
  std::memcpy(front + sizeof kMagic, &capacity, sizeof capacity);
  if (::pwrite(fd.get(), front, sizeof front, 0) != static_cast<ssize_t>(sizeof front)) {
    return base::errno_status(path, "write", errno != 0 ? errno : ENOSPC);
  }
  return map(path, std::move(fd), bytes, capacity);
}

Result<std::shared_ptr<Slot>> Slot::open(const std::string& path) {
  base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return base::errno_status(path, "open", errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return base::errno_status(path, "stat", errno);
  Header header{};
  const long got = base::pread_full(fd.get(), static_cast<void*>(&header), sizeof header, 0);
  const bool whole = got == static_cast<long>(sizeof header) &&
                     std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 &&
                     header.capacity <= slot_image_bytes_max && header.capacity % kPage == 0 &&
                     static_cast<std::uint64_t>(info.st_size) == file_bytes(header.capacity);
  if (!whole) return Status::corrupt(path + ": not a slot of this version");
  const std::uint64_t capacity = header.capacity;
  return map(path, std::move(fd), file_bytes(capacity), capacity);
}

Status Slot::allocate(const std::function<bool()>& goes_on) {
  for (std::uint64_t at = 0; at < bytes_; at += kAllocateStep) {
    if (!goes_on()) return Status::io(path_ + ": its allocation was given up");
    const std::uint64_t bytes = std::min<std::uint64_t>(kAllocateStep, bytes_ - at);
    const int error =
        ::posix_fallocate(fd_.get(), static_cast<off_t>(at), static_cast<off_t>(bytes));
    if (error != 0) return base::errno_status(path_, "allocate", error);
  }
  return {};
}

void Slot::populate() {
  // In small steps: meanwhile nobody else in this process gets or gives back memory. Older kernels
  // do not know the call; then the first copy pays.
  for (std::size_t at = 0; at < bytes_; at += kPopulateStep) {
    const std::size_t bytes = std::min(kPopulateStep, bytes_ - at);
    if (::madvise(memory_ + at, bytes, MADV_POPULATE_WRITE) != 0) return;
  }
}

SlotState Slot::state() const {
  return static_cast<SlotState>(header_->state.load(std::memory_order_acquire));
}

bool Slot::move(SlotState from, SlotState to) {
  auto expected = static_cast<std::uint32_t>(from);
  return header_->state.compare_exchange_strong(expected, static_cast<std::uint32_t>(to),
                                                std::memory_order_acq_rel);
}

bool Slot::try_begin() {
  return move(SlotState::empty, SlotState::writing) ||
         move(SlotState::sealed, SlotState::writing) ||
         move(SlotState::writing, SlotState::writing);
}

void Slot::seal(const SlotFacts& facts, bool pinned) {
  HW_CHECK(state() == SlotState::writing);
  close(facts, pinned ? SlotState::pinned : SlotState::sealed);
}

void Slot::close(const SlotFacts& facts, SlotState state) {
  HW_CHECK(fit(facts.own, facts.rest, capacity_));
  header_->facts = facts;
  const auto used = checksums().first(chunks_of(facts.own, facts.rest).size());
  header_->checksums_crc = base::crc32c(used.data(), used.size_bytes());
  header_->facts_crc = header_->crc();
  header_->state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

bool Slot::try_pin() {
  return move(SlotState::sealed, SlotState::pinned);
}
void Slot::unpin() {
  (void)move(SlotState::pinned, SlotState::sealed);
}
bool Slot::try_adopt() {
  return move(SlotState::sealed, SlotState::live) || move(SlotState::writing, SlotState::live);
}
void Slot::clear() {
  header_->state.store(static_cast<std::uint32_t>(SlotState::empty), std::memory_order_release);
}

bool Slot::try_remove(SlotState from) {
  HW_CHECK(from == SlotState::empty || from == SlotState::sealed);
  return move(from, SlotState::gone);
}

void Slot::abandon() {
  (void)move(SlotState::writing, SlotState::empty);
}

bool Slot::try_apply() {
  return move(SlotState::sealed, SlotState::applying) ||
         move(SlotState::applying, SlotState::applying);
}
void Slot::applied(const SlotFacts& facts) {
  HW_CHECK(state() == SlotState::applying);
  close(facts, SlotState::sealed);
}

std::optional<SlotFacts> Slot::read_facts() const {
  const SlotFacts facts = header_->facts;
  const bool good = header_->crc() == header_->facts_crc && fit(facts.own, facts.rest, capacity_);
  return good ? std::optional(facts) : std::nullopt;
}

std::optional<SlotFacts> Slot::facts_before() const {
  return state() == SlotState::applying ? read_facts() : std::nullopt;
}

std::optional<SlotFacts> Slot::facts() const {
  const SlotState now = state();
  if (now != SlotState::sealed && now != SlotState::pinned) return std::nullopt;
  const auto read = read_facts();
  if (!read) return std::nullopt;
  const SlotFacts& facts = *read;
  const std::size_t chunks = chunks_of(facts.own, facts.rest).size();
  if (base::crc32c(checksums().data(), chunks * sizeof(std::uint32_t)) != header_->checksums_crc) {
    return std::nullopt;
  }
  return facts;
}

std::span<std::uint32_t> Slot::checksums() {
  return {reinterpret_cast<std::uint32_t*>(memory_ + kPage), checksums_max(capacity_)};
}
std::span<const std::uint32_t> Slot::checksums() const {
  return {reinterpret_cast<const std::uint32_t*>(memory_ + kPage), checksums_max(capacity_)};
}

Status Slot::verify(const SlotFacts& facts, CopyTeam& team) const {
  HW_CHECK(fit(facts.own, facts.rest, capacity_));
  const auto chunks = chunks_of(facts.own, facts.rest);
  std::atomic<std::size_t> bad = chunks.size();
  team.run(chunks.size(), [&](std::size_t i) {
    const std::uint32_t crc = base::crc32c(image_ + chunks[i].begin, chunks[i].bytes());
    if (crc != checksums()[i]) bad.store(i, std::memory_order_relaxed);
  });
  if (bad == chunks.size()) return {};
  return Status::corrupt(fmt::format("{}: damaged between bytes {} and {}", path_,
                                     chunks[bad].begin, chunks[bad].end));
}

}  // namespace headway::replica
