// Threads that share out pieces of work which fill memory: copies and checksums. The caller works
// too. Threads are started with the first work and wait for the next; a process that forks keeps
// none of them in the child, which must not use the parent's team.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace headway::replica {

class CopyTeam {
 public:
  static constexpr unsigned threads_max = 16;

  // At least one, the caller's own.
  explicit CopyTeam(unsigned threads);
  ~CopyTeam();
  CopyTeam(const CopyTeam&) = delete;
  CopyTeam& operator=(const CopyTeam&) = delete;

  [[nodiscard]] unsigned threads() const { return threads_; }
  // Calls work(i) once for each i below count, and returns after the last. One caller at a time.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void start();
  void stay(std::uint64_t seen);
  void take_all();

  const unsigned threads_;
  std::vector<std::thread> others_;
  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable done_;
  std::uint64_t round_ = 0;
  unsigned working_ = 0;
  bool leave_ = false;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
};

}  // namespace headway::replica
