#include "replica/backup.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "base/crc32c.h"

namespace headway::replica {
namespace {

constexpr std::chrono::milliseconds kLook{1};
constexpr std::size_t kPieceBytes = 128 << 10;  // stays in the cache

}  // namespace

Backup::Backup(std::shared_ptr<Slot> from, const SlotFacts& facts, std::shared_ptr<Slot> to,
               bool persist, std::function<void()> then)
    : from_(std::move(from)),
      facts_(facts),
      to_(std::move(to)),
      persist_(persist),
      then_(std::move(then)),
      is_over_(over_.get_future()) {
  thread_ = std::thread([this] { run(); });
}

Backup::~Backup() {
  leave_ = true;
  thread_.join();
}

bool Backup::wait(std::int64_t limit_ns) const {
  return is_over_.wait_for(std::chrono::nanoseconds(limit_ns)) == std::future_status::ready;
}

bool Backup::copy() const {
  const auto chunks = chunks_of(facts_.own, facts_.rest);
  std::vector<std::byte> piece(kPieceBytes);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (leave_ || !from_->is_intact() || !to_->is_intact()) return false;
    std::uint32_t crc = 0;
    for (std::uint64_t at = chunks[i].begin; at < chunks[i].end; at += piece.size()) {
      // Read once: what is summed and what is written are the same, whoever changes it meanwhile.
      const std::size_t bytes = std::min<std::uint64_t>(piece.size(), chunks[i].end - at);
      std::memcpy(piece.data(), from_->image().data() + at, bytes);
      crc = base::copy_crc32c(to_->image().data() + at, piece.data(), bytes, crc);
    }
    if (crc != from_->checksums()[i]) return false;
    to_->checksums()[i] = crc;
  }
  return true;
}

void Backup::run() {
  if (copy()) {
    to_->seal(facts_, persist_);
    kept_ = true;
  } else if (to_->is_intact()) {
    to_->clear();
  }
  // A holder may be writing it to the disk: then it is pinned for so long.
  while (!leave_ && from_->is_intact() && !from_->try_adopt()) std::this_thread::sleep_for(kLook);
  then_();
  over_.set_value();
}

}  // namespace headway::replica
