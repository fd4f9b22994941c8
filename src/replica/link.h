// The trainer's end of the connection to its holder, with a thread of its own: the trainer is never
// kept waiting by it. A holder that is gone is waited for; where nobody else would start one, it is
// started from here, ever more rarely if that comes to nothing. One that does not answer for long
// is news (`failed`) and a refusal until it does.
#pragma once

#include <atomic>
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
  struct Room {
    std::uint64_t bytes = 0;  // of an image
    std::uint32_t count = 0;
    std::uint64_t rows_bytes = 0;  // of what holds rows of one; less than `bytes`
    std::uint32_t rows_count = 0;
  };
  void reserve(const Room& room);
  // For the same, if it was refused for now.
  void ask_again();
  // Something was sealed.
  void look();
  // These checkpoints were read and are damaged: whatever retention counts, not them. The newest
  // damaged_max of them are told, to every holder that comes.
  void found_damaged(std::vector<std::string> names);

  // Ready for use, the memory known to this process.
  // Those that somebody has cut or removed meanwhile are left out, and asked for again.
  [[nodiscard]] std::vector<std::shared_ptr<Slot>> slots();
  // Until the holder has answered once, or so many nanoseconds have passed.
  bool wait_for_answer(std::int64_t limit_ns) const;
  // Until there is another answer, or time is up.
  void wait_for_news(std::int64_t limit_ns) const;
  // Of the last reserve(), or of everything; "" while there is none.
  [[nodiscard]] std::string refusal() const;
  // Nobody will go on from here.
  void bye();
  // The holder could not put rows into the image: a whole step has to come. Taken once.
  [[nodiscard]] bool wants_whole() const { return wants_whole_; }
  [[nodiscard]] bool take_wants_whole() { return wants_whole_.exchange(false); }

 private:
  void stay();
  void connect();
  void start_holder();
  [[nodiscard]] std::string why_silent() const;
  [[nodiscard]] bool notice_silence();
  void take(const Message& message);
  void take_slots(const std::vector<std::string>& paths);
  void send(const Message& message);
  void wake();

  const LinkOptions options_;
  base::UniqueFd wake_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  base::UniqueFd socket_;
  Message wanted_;                  // `reserve`, once it was said
  Message look_{.say = Say::look};  // for one that knows nothing yet
  std::vector<std::shared_ptr<Slot>> slots_;
  std::string refusal_;
  bool refused_ = false;  // for good
  bool answered_ = false;
  bool leave_ = false;
  std::atomic<bool> wants_whole_ = false;
  int child_ = -1;                    // the holder that was started here
  bool heard_ = false;                // from the one that we are connected to
  std::int64_t silent_since_ns_ = 0;  // nobody has answered since then
  std::int64_t start_next_ns_ = 0;    // no holder is started before
  int starts_ = 0;                    // in a row that came to nothing
  bool complained_ = false;           // of this silence
  std::string start_error_;           // why no holder could be started from here
  std::thread thread_;
};

}  // namespace headway::replica
