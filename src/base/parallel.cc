#include "base/parallel.h"

#include <algorithm>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"

namespace headway::base {

Status in_parallel(std::size_t count, std::size_t workers, std::atomic<bool>& stop,
                   const Work& work) {
  HW_CHECK(workers >= 1 && workers <= workers_max);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Status first;
  const auto run = [&](std::size_t worker) {
    while (!stop.load()) {
      const std::size_t index = next.fetch_add(1);
      if (index >= count) return;
      Status status = work(worker, index);
      if (status.ok()) continue;
      const std::lock_guard lock(mutex);
      if (first.ok()) first = std::move(status);
      stop.store(true);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t worker = 1; worker < std::min(count, workers); ++worker) {
    try {
      threads.emplace_back(run, worker);
    } catch (const std::system_error&) {
      break;  // with fewer it only takes longer
    }
  }
  run(0);
  for (std::thread& thread : threads) thread.join();
  return first;
}

}  // namespace headway::base
