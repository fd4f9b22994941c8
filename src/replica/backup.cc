#include "replica/backup.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "base/crc32c.h"

namespace headway::replica {
namespace {

constexpr std::chrono::milliseconds kLook{1};

}  // namespace

Backup::Backup(std::shared_ptr<Slot> from, const SlotFacts& facts, std::shared_ptr<Slot> to,
               std::function<void()> then)
    : from_(std::move(from)),
      facts_(facts),
      to_(std::move(to)),
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
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (leave_ || !from_->is_intact() || !to_->is_intact()) return false;
    const auto [begin, end] = chunks[i];
    std::byte* const there = to_->image().data() + begin;
    std::memcpy(there, from_->image().data() + begin, end - begin);
    // Of what has arrived: it may have changed on the way.
    to_->checksums()[i] = base::crc32c(there, end - begin);
    if (to_->checksums()[i] != from_->checksums()[i]) return false;
  }
  return true;
}

void Backup::run() {
  if (copy()) {
    to_->seal(facts_, false);
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
