// One thread that does what it is given, in order. What is still waiting when it is destroyed is
// dropped; what is being done is waited for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace headway::replica {

class Worker {
 public:
  Worker() = default;
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void add(std::function<void()> task);
  // As destroying it; it takes nothing more.
  void end();

 private:
  void stay();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool leave_ = false;
  std::thread thread_;  // from the first task on
};

}  // namespace headway::replica
