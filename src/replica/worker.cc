#include "replica/worker.h"

namespace headway::replica {

Worker::~Worker() {
  end();
}

void Worker::end() {
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Worker::add(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (leave_) return;
    tasks_.push_back(std::move(task));
    if (!thread_.joinable()) thread_ = std::thread([this] { stay(); });
  }
  changed_.notify_all();
}

void Worker::stay() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return leave_ || !tasks_.empty(); });
    if (leave_) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace headway::replica
