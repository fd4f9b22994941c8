// A few threads that answer what takes a moment, so that those of the server never wait. Bounded:
// what finds no room is told so. add() from any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace headway::collector {

class Workers {
 public:
  explicit Workers(int threads, std::size_t waiting_max);
  ~Workers();  // stop()
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // False: there is no room.
  bool add(std::function<void()> work);
  // What was added is done first; then nothing is taken any more. Others may still ask waiting().
  void stop();
  [[nodiscard]] std::size_t waiting() const;

 private:
  void run();

  const std::size_t waiting_max_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace headway::collector
