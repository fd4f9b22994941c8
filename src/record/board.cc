#include "record/board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"

namespace headway::record {
namespace {

constexpr long kWaitNs = 200'000;
constexpr std::int64_t kAhead = 2;  // a rank is at most one step beyond another

std::size_t bytes_for(std::uint32_t slots) {
  return sizeof(BoardHeader) + static_cast<std::size_t>(slots) * sizeof(BoardSlot);
}

void* map(int fd, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

Board::Board(Board&& other) noexcept
    : header_(std::exchange(other.header_, nullptr)),
      slots_(std::exchange(other.slots_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Board& Board::operator=(Board&& other) noexcept {
  std::swap(header_, other.header_);
  std::swap(slots_, other.slots_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Board::~Board() {
  if (header_ != nullptr) ::munmap(header_, bytes_);
}

base::Result<Board> Board::create(const std::string& path, std::uint32_t slots) {
  HW_CHECK(slots > 0 && slots <= slots_max);
  Board board;
  board.bytes_ = bytes_for(slots);
  board.slots_ = slots;
  // The magic comes last: a rank never sees half a board.
  const base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) return base::errno_status(path, "open", errno);
  // Allocated, not merely sized: a full disk must not become a SIGBUS of the trainer.
  const int error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(board.bytes_));
  if (error != 0) return base::errno_status(path, "allocate", error);
  void* memory = map(fd.get(), board.bytes_);
  if (memory == nullptr) return base::errno_status(path, "map", errno);
  board.header_ = new (memory) BoardHeader{};
  board.header_->slots = slots;
  board.header_->step.store(kNoStep);
  for (std::uint32_t i = 0; i < slots; ++i) {
    (new (&board.slot(i)) BoardSlot{})->finished.store(kNoStep);
  }
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(board.header_->magic, kBoardMagic, sizeof(kBoardMagic));
  return board;
}

base::Result<Board> Board::open(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return base::errno_status(path, "open", errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return base::errno_status(path, "stat", errno);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size < sizeof(BoardHeader) || size > bytes_for(slots_max)) {
    return base::Status::invalid(path + ": not a board");
  }
  Board board;
  board.bytes_ = size;
  void* memory = map(fd.get(), size);
  if (memory == nullptr) return base::errno_status(path, "map", errno);
  board.header_ = static_cast<BoardHeader*>(memory);
  board.slots_ = board.header_->slots;
  if (std::memcmp(board.header_->magic, kBoardMagic, sizeof(kBoardMagic)) != 0 ||
      board.slots_ == 0 || board.slots_ > slots_max || size != bytes_for(board.slots_)) {
    return base::Status::invalid(path + ": not a board");
  }
  return board;
}

BoardSeat board_from_environment() {
  BoardSeat seat;
  const char* path = std::getenv("HEADWAY_BOARD");
  const char* local = std::getenv("LOCAL_RANK");
  if (path == nullptr || local == nullptr) return seat;
  auto board = Board::open(path);
  const unsigned long slot = std::strtoul(local, nullptr, 10);
  if (!board.ok() || slot >= board->slots()) return seat;
  seat.board = std::move(*board);
  seat.slot = static_cast<std::uint32_t>(slot);
  return seat;
}

BoardSlot& Board::slot(std::uint32_t index) const {
  HW_CHECK(index < slots_);
  return reinterpret_cast<BoardSlot*>(header_ + 1)[index];
}

bool Board::should_stop(std::uint32_t index, std::int64_t step) {
  slot(index).finished.store(step);
  const std::int64_t until_ns = base::monotonic_ns() + wait_max_ns;
  while (true) {
    const std::uint32_t state = header_->state.load();
    if (state == BoardHeader::running) return false;
    if (step < header_->step.load()) return false;
    if (state == BoardHeader::decided) return true;
    if (base::monotonic_ns() > until_ns) return false;
    const timespec wait{0, kWaitNs};
    ::nanosleep(&wait, nullptr);
  }
}

bool Board::asks(std::uint32_t index) const {
  return index < slots_ && slot(index).finished.load() != kNoStep;
}

std::optional<std::int64_t> Board::latest() const {
  std::int64_t latest = kNoStep;
  for (std::uint32_t i = 0; i < slots_; ++i) latest = std::max(latest, slot(i).finished.load());
  if (latest == kNoStep) return std::nullopt;
  return latest;
}

bool Board::propose(std::int64_t step) {
  header_->step.store(step);
  header_->state.store(BoardHeader::proposed);
  return latest().value_or(kNoStep) < step;
}

void Board::decide() {
  header_->state.store(BoardHeader::decided);
}

std::optional<std::int64_t> Board::stop_soon() {
  auto latest_step = latest();
  if (!latest_step) return std::nullopt;
  // Ends: whoever is at a step that was proposed waits there.
  while (!propose(*latest_step + kAhead)) latest_step = latest();
  decide();
  return *latest_step + kAhead;
}

}  // namespace headway::record
