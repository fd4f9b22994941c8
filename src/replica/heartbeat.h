// Signs of life, from a thread of its own: the thread that works may stand in one call of a slow
// disk for longer than others wait for a sign.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace headway::replica {

class Heartbeat {
 public:
  // `beat` at once, here, and then every `every_ns` on another thread, until this is destroyed.
  Heartbeat(std::int64_t every_ns, std::function<void()> beat);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void stay(std::int64_t every_ns);

  const std::function<void()> beat_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace headway::replica
