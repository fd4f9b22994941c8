// The trainer's end of the connection to its holder, with a thread of its own: the trainer is never
// kept waiting by it. A holder that is gone is waited for; where nobody else would start one, it is
// started from here.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "replica/message.h"
#include "replica/slot.h"

namespace headway::replica {

struct LinkOptions {
  std::string folder;  // the holder's
  Message hello;
  std::vector<std::string> command;  // starts a holder; empty: the agent does
  // From the link's thread: `durable`, `failed`, `uploaded` and `not_uploaded`.
  std::function<void(const Message&)> on_news = [](const Message&) {};
};

class Link {
 public:
  explicit Link(LinkOptions options);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Asks for memory; the slots come later.
  void reserve(std::uint64_t bytes, std::uint32_t count);
  // Something was sealed.
  void look();

  // Ready for use, the memory known to this process.
  [[nodiscard]] std::vector<std::shared_ptr<Slot>> slots() const;
  // Until the holder has answered once, or so many nanoseconds have passed.
  bool wait_for_answer(std::int64_t limit_ns) const;
  // Until this is true of the slots, the holder has refused, or time is up.
  bool wait_for_slots(const std::function<bool(const std::vector<std::shared_ptr<Slot>>&)>& enough,
                      std::int64_t limit_ns) const;
  // Of the last reserve(), or of everything; "" while there is none.
  [[nodiscard]] std::string refusal() const;
  // Nobody will go on from here.
  void bye();

 private:
  void stay();
  void connect();
  void start_holder();
  void take(const Message& message);
  void take_slots(const std::vector<std::string>& paths);
  void send(const Message& message);
  void wake();

  const LinkOptions options_;
  base::UniqueFd wake_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  base::UniqueFd socket_;
  Message wanted_;  // `reserve`, once it was said
  std::vector<std::shared_ptr<Slot>> slots_;
  std::string refusal_;
  bool refused_ = false;  // for good
  bool answered_ = false;
  bool leave_ = false;
  int child_ = -1;  // the holder that was started here
  std::thread thread_;
};

}  // namespace headway::replica
