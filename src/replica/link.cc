#include "replica/link.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/file.h"
#include "base/start_process.h"
#include "replica/holder.h"
#include "replica/packet_socket.h"

namespace headway::replica {
namespace {

constexpr int kAgainMs = 20;  // between tries to connect
constexpr int kSilentLookMs = 500;
constexpr std::int64_t kSilentNs = 20'000'000'000;
constexpr std::int64_t kStartAgainNs = 20'000'000;
constexpr std::int64_t kStartAgainMaxNs = 5'000'000'000;
constexpr int kDoublingsMax = 10;
constexpr std::size_t kLogBytesMax = 1 << 20;

using Lock = std::unique_lock<std::mutex>;

}  // namespace

Link::Link(LinkOptions options) : options_(std::move(options)) {
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread([this] { stay(); });
}

Link::~Link() {
  {
    const Lock lock(mutex_);
    leave_ = true;
  }
  wake();
  thread_.join();
  if (child_ > 0) (void)::waitpid(child_, nullptr, WNOHANG);
}

void Link::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void Link::reserve(const Room& room) {
  const Lock lock(mutex_);
  wanted_.say = Say::reserve;
  wanted_.bytes = room.bytes;
  wanted_.count = room.count;
  wanted_.rows_bytes = room.rows_bytes;
  wanted_.rows_count = room.rows_count;
  if (!refused_) refusal_.clear();
  send(wanted_);
}

void Link::ask_again() {
  const Lock lock(mutex_);
  if (refused_ || complained_ || wanted_.say != Say::reserve) return;
  refusal_.clear();
  send(wanted_);
}

void Link::look() {
  const Lock lock(mutex_);
  send({.say = Say::look});
}

void Link::found_damaged(std::vector<std::string> names) {
  names.resize(std::min(names.size(), damaged_max));
  const Lock lock(mutex_);
  look_.damaged = std::move(names);
  send(look_);
}

void Link::bye() {
  const Lock lock(mutex_);
  send({.say = Say::bye});
}

// With the lock. A packet that is lost is no harm: who connects again says everything again.
void Link::send(const Message& message) {
  if (socket_.valid()) (void)send_packet(socket_.get(), message);
}

std::vector<std::shared_ptr<Slot>> Link::slots() {
  const Lock lock(mutex_);
  const auto broken = std::erase_if(slots_, [](const auto& slot) { return !slot->is_intact(); });
  if (broken > 0 && wanted_.say == Say::reserve) send(wanted_);
  return slots_;
}

std::string Link::refusal() const {
  const Lock lock(mutex_);
  return refusal_;
}

bool Link::wait_for_answer(std::int64_t limit_ns) const {
  Lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(limit_ns),
                           [this] { return answered_ || !refusal_.empty(); });
}

void Link::wait_for_news(std::int64_t limit_ns) const {
  Lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(limit_ns));
}

// ---- The link's own thread.

void Link::stay() {
  silent_since_ns_ = base::monotonic_ns();
  for (;;) {
    int socket = -1;
    int wait_ms = -1;
    {
      const Lock lock(mutex_);
      if (leave_) return;
      if (!socket_.valid() && !refused_) connect();
      socket = socket_.get();
      if (!refused_ && !heard_) wait_ms = socket < 0 ? kAgainMs : kSilentLookMs;
    }
    if (wait_ms >= 0 && notice_silence()) {
      Message news{.say = Say::failed};
      news.text = refusal();
      options_.on_news(news);
    }
    pollfd fds[2] = {{wake_.get(), POLLIN, 0}, {socket, POLLIN, 0}};
    (void)::poll(fds, 2, wait_ms);
    if (fds[1].revents == 0) continue;
    Message message;
    switch (receive_packet(socket, message)) {
      case Received::packet:
        take(message);
        break;
      case Received::nothing:
        break;
      case Received::garbage:
      case Received::closed: {
        const Lock lock(mutex_);
        socket_.reset();
        if (std::exchange(heard_, false)) silent_since_ns_ = base::monotonic_ns();
        break;
      }
    }
  }
}

void Link::connect() {
  auto socket = connect_to(options_.folder + "/" + kHolderSocket);
  if (!socket.ok()) return start_holder();
  socket_ = std::move(*socket);
  send(options_.hello);
  if (wanted_.say == Say::reserve) send(wanted_);
  send(look_);
}

bool Link::notice_silence() {
  const Lock lock(mutex_);
  if (complained_ || base::monotonic_ns() - silent_since_ns_ < kSilentNs) return false;
  complained_ = true;
  refusal_ = why_silent();
  changed_.notify_all();
  return true;
}

std::string Link::why_silent() const {
  std::string text = options_.folder + ": the holder of replicas does not answer";
  if (!start_error_.empty()) return text + ": " + start_error_;
  const std::string path = options_.folder + "/" + kHolderLog;
  auto log = base::read_file(path, kLogBytesMax);
  if (!log.ok() || log->empty()) return text + ", and nothing can be saved meanwhile";
  while (log->ends_with('\n')) log->pop_back();
  return text + "; the last that it said: " + log->substr(log->rfind('\n') + 1);
}

void Link::start_holder() {
  if (options_.command.empty()) return;
  if (child_ > 0 && ::waitpid(child_, nullptr, WNOHANG) == 0) return;  // on its way
  const std::int64_t now_ns = base::monotonic_ns();
  if (std::exchange(child_, -1) > 0) {
    start_next_ns_ =
        now_ns + std::min(kStartAgainNs << std::min(starts_++, kDoublingsMax), kStartAgainMaxNs);
  }
  if (now_ns < start_next_ns_) return;
  start_error_.clear();
  if (base::Status made = base::make_dirs(options_.folder); !made.ok()) {
    start_error_ = made.message();
    return;
  }
  // It must not keep the trainer's output open, nor get the terminal's signals.
  const base::ProcessPlan::Output log{options_.folder + "/" + kHolderLog, true};
  auto child = base::start_process(
      {.argv = options_.command, .output = log, .errors = log, .own_session = true});
  if (child.ok()) {
    child_ = *child;
  } else {
    start_error_ = child.status().message();
    start_next_ns_ = now_ns + kStartAgainMaxNs;
  }
}

void Link::take(const Message& message) {
  {
    const Lock lock(mutex_);
    heard_ = true;
    starts_ = 0;
    if (std::exchange(complained_, false) && !refused_) refusal_.clear();
  }
  switch (message.say) {
    case Say::slots:
      take_slots(message.paths);
      return;
    case Say::failed:
      if (message.step == 0) {
        const Lock lock(mutex_);
        refusal_ = message.text;
        changed_.notify_all();
      }
      options_.on_news(message);
      return;
    case Say::whole:
      wants_whole_ = true;
      return;
    case Say::durable:
    case Say::uploaded:
    case Say::not_uploaded:
      options_.on_news(message);
      return;
    case Say::refused: {
      const Lock lock(mutex_);
      refused_ = true;
      refusal_ = message.text;
      changed_.notify_all();
      return;
    }
    default:
      return;
  }
}

void Link::take_slots(const std::vector<std::string>& paths) {
  std::vector<std::shared_ptr<Slot>> before;
  bool first = false;
  {
    const Lock lock(mutex_);
    before = slots_;
    first = !answered_;
  }
  std::vector<std::shared_ptr<Slot>> slots;
  for (const std::string& path : paths) {
    const auto known = std::find_if(before.begin(), before.end(),
                                    [&](const auto& slot) { return slot->path() == path; });
    if (known != before.end()) {
      slots.push_back(*known);
    } else if (auto slot = Slot::open(path); slot.ok()) {
      slots.push_back(*slot);
    }
  }
  // A restart waits for the first answer: it must not wait for pages too.
  const auto publish = [&] {
    const Lock lock(mutex_);
    slots_ = slots;
    answered_ = true;
    changed_.notify_all();
  };
  if (first) publish();
  for (const auto& slot : slots) slot->populate();
  if (!first) publish();
}

}  // namespace headway::replica
