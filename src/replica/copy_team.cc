#include "replica/copy_team.h"

#include <algorithm>
#include <system_error>

namespace headway::replica {

CopyTeam::CopyTeam(unsigned threads) : threads_(std::clamp(threads, 1U, threads_max)) {}

CopyTeam::~CopyTeam() {
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  begun_.notify_all();
  for (std::thread& other : others_) other.join();
}

void CopyTeam::start() {
  while (others_.size() + 1 < threads_) {
    try {
      others_.emplace_back([this, seen = round_] { stay(seen); });
    } catch (const std::system_error&) {
      return;  // no more threads to be had: those that there are do it
    }
  }
}

void CopyTeam::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (count < 2 || threads_ == 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  start();
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    working_ = static_cast<unsigned>(others_.size());
    ++round_;
  }
  begun_.notify_all();
  take_all();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return working_ == 0; });
  work_ = nullptr;
}

void CopyTeam::take_all() {
  for (;;) {
    const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= count_) return;
    (*work_)(i);
  }
}

void CopyTeam::stay(std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return leave_ || round_ != seen; });
    if (leave_) return;
    seen = round_;
    lock.unlock();
    take_all();
    lock.lock();
    if (--working_ == 0) done_.notify_one();
  }
}

}  // namespace headway::replica
