// A whole step that a successor has made its own memory is copied into another slot, beside what
// the successor does until it changes that memory: at no moment is the step in no slot. A thread of
// its own, one piece after the other. What was changed too early shows by its checksum: then there
// is no copy, and a crash before the next save goes back to an older step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "replica/slot.h"

namespace headway::replica {

class Backup {
 public:
  // `from` is sealed, and holds `facts`; `to` is being written, by us alone. When it is over `from`
  // is live, and `then` is called, by our thread. `persist`: the copy is on its way to the disk.
  Backup(
      std::shared_ptr<Slot> from, const SlotFacts& facts, std::shared_ptr<Slot> to,
      bool persist = false, std::function<void()> then = [] {});
  ~Backup();
  Backup(const Backup&) = delete;
  Backup& operator=(const Backup&) = delete;

  // Until it is over, or time is up: then `from` may still be on its way to the disk.
  bool wait(std::int64_t limit_ns) const;
  // When it is over: is there a copy?
  [[nodiscard]] bool kept() const { return kept_; }

 private:
  void run();
  [[nodiscard]] bool copy() const;

  const std::shared_ptr<Slot> from_;
  const SlotFacts facts_;
  const std::shared_ptr<Slot> to_;
  const bool persist_;
  const std::function<void()> then_;
  std::atomic<bool> leave_ = false;
  std::atomic<bool> kept_ = false;
  std::promise<void> over_;
  std::future<void> is_over_;
  std::thread thread_;
};

}  // namespace headway::replica
