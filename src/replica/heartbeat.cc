#include "replica/heartbeat.h"

#include <chrono>
#include <utility>

namespace headway::replica {

Heartbeat::Heartbeat(std::int64_t every_ns, std::function<void()> beat) : beat_(std::move(beat)) {
  beat_();
  thread_ = std::thread([this, every_ns] { stay(every_ns); });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Heartbeat::stay(std::int64_t every_ns) {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::nanoseconds(every_ns), [this] { return end_; })) {
    lock.unlock();
    beat_();
    lock.lock();
  }
}

}  // namespace headway::replica
