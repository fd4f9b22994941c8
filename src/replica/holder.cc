#include "replica/holder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/clock.h"
#include "base/file_system.h"
#include "replica/abandoned.h"
#include "replica/memory_room.h"
#include "replica/packet_socket.h"

namespace headway::replica {
namespace {

using base::Result;
using base::Status;
using base::UniqueFd;

constexpr std::size_t kStrangersMax = 1024;
constexpr std::size_t kDamagedMax = 256;  // checkpoints that retention knows of
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kLookNs = 100 * kMillisecond;  // whether somebody waits for us

std::int64_t now_ns() {
  return base::clock_ns(CLOCK_MONOTONIC);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1 << 30) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

}  // namespace

Result<std::unique_ptr<Holder>> Holder::open(HolderOptions options) {
  const std::string folder = options.folder;
  if (Status made = base::make_dirs(folder); !made.ok()) return made;
  std::unique_ptr<Holder> holder(new Holder(std::move(options)));
  const std::string lock = folder + "/" + kHolderLock;
  holder->lock_.reset(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!holder->lock_.valid()) return base::errno_status(lock, "open", errno);
  if (::flock(holder->lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return Status::invalid(folder + ": another process holds the replicas in it");
  }
  if (!holder->options_.listener.valid()) {
    auto listener = listen_at(folder + "/" + kHolderSocket);
    if (!listener.ok()) return listener.status();
    holder->options_.listener = std::move(*listener);
  }
  holder->posts_fd_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!holder->posts_fd_.valid()) return base::errno_status("eventfd", "create", errno);
  (void)remove_abandoned(base::folder_of(folder), folder, base::clock_ns(CLOCK_REALTIME));
  for (const std::uint32_t rank : ranks_in(folder)) holder->rank_of(rank).slots.take_over();
  return holder;
}

Holder::~Holder() {
  give_up_ = true;
}

Holder::Rank& Holder::rank_of(std::uint32_t number) {
  auto& rank = ranks_[number];
  if (!rank) rank.reset(new Rank{.slots = RankSlots(options_.folder, number)});
  return *rank;
}

bool Holder::has_clients() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& entry) { return entry.second->client.valid(); });
}

bool Holder::all_done() const {
  return ranks_here() != 0 && ranks_.size() == ranks_here() && !has_clients() &&
         std::all_of(ranks_.begin(), ranks_.end(),
                     [](const auto& entry) { return entry.second->done; });
}

// ---- The loop.

Status Holder::run(int stop) {
  alone_since_ns_ = now_ns();
  std::vector<pollfd> fds;
  bool lingered = false;
  for (;;) {
    fds.assign({{stop, POLLIN, 0}, {posts_fd_.get(), POLLIN, 0}});
    fds.push_back({stopping_ ? -1 : options_.listener.get(), POLLIN, 0});
    for (const UniqueFd& stranger : strangers_) fds.push_back({stranger.get(), POLLIN, 0});
    for (const auto& [number, rank] : ranks_) {
      if (rank->client.valid()) fds.push_back({rank->client.get(), POLLIN, 0});
    }
    if (stopping_) fds[0].fd = -1;
    if (::poll(fds.data(), fds.size(), wait_ms(now_ns())) < 0 && errno != EINTR) {
      return base::errno_status("poll", "wait", errno);
    }
    drop_broken();
    serve_posts();
    if (fds[0].revents != 0) {
      stopping_ = true;
      if (!last_.ok()) tried_.reset();
    }
    for (std::size_t i = 3; i < fds.size(); ++i) {
      if (fds[i].revents != 0 && !serve(fds[i].fd) && !has_clients()) alone_since_ns_ = now_ns();
    }
    if (fds[2].revents != 0) serve_new();
    serve_parked();
    nobody_trains_ = stopping_ || !has_clients();
    consider();
    tell_waiting();
    const std::int64_t alone_ns = has_clients() ? 0 : now_ns() - alone_since_ns_;
    const bool orphaned = options_.orphan_ns >= 0 && alone_ns > options_.orphan_ns;
    const bool all_ended = options_.linger_ns >= 0 && all_done();
    if (stopping_ || orphaned || all_ended) write_newest();
    lingered = options_.linger_ns >= 0 && alone_ns > options_.linger_ns;
    const bool over = all_ended || lingered;
    if ((stopping_ || over) && !writing_) {
      if (!waits_for_upload(now_ns())) break;
    } else {
      upload_until_ns_.reset();
    }
    // What is being read for the store is not given to others yet.
    const bool reading = uploader_ && !uploader_->settled() && !uploader_->failed();
    if (orphaned && !writing_ && !reading) unlock_folder();
  }
  if (uploader_) uploader_->give_up();
  // What is not on disk stays in memory, but not for ever where somebody has removed the folder.
  const bool given_up = lingered && last_.code() == base::Code::not_found;
  if (!last_.ok() && !given_up) return last_;
  // Also memory that somebody asked for just before the end, and that nobody has yet.
  give_up_ = true;
  memory_.end();
  remove_replicas(options_.folder);
  return {};
}

int Holder::wait_ms(std::int64_t now_ns) const {
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  if (upload_until_ns_ || !parked_.empty()) until = now_ns + kLookNs;
  if ((stopping_ || has_clients()) && !upload_until_ns_ && parked_.empty()) return -1;
  for (const std::int64_t after : {options_.orphan_ns, options_.linger_ns}) {
    const std::int64_t at = alone_since_ns_ + after;
    if (after >= 0 && at >= now_ns) until = std::min(until, at);
  }
  if (until == std::numeric_limits<std::int64_t>::max()) return -1;
  return static_cast<int>(std::min<std::int64_t>((until - now_ns) / kMillisecond + 1, 60'000));
}

void Holder::post(std::function<void()> done) {
  {
    const std::lock_guard lock(posts_mutex_);
    posts_.push_back(std::move(done));
  }
  const std::uint64_t one = 1;
  (void)!::write(posts_fd_.get(), &one, sizeof one);
}

void Holder::serve_posts() {
  std::uint64_t count = 0;
  (void)!::read(posts_fd_.get(), &count, sizeof count);
  std::vector<std::function<void()>> posts;
  {
    const std::lock_guard lock(posts_mutex_);
    posts.swap(posts_);
  }
  for (const auto& done : posts) done();
}

// ---- Trainers.

void Holder::serve_new() {
  for (;;) {
    UniqueFd client = accept_from(options_.listener.get());
    if (!client.valid()) return;
    if (strangers_.size() < kStrangersMax) strangers_.push_back(std::move(client));
  }
}

bool Holder::serve(int client) {
  Message message;
  const Received received = receive_packet(client, message);
  if (received == Received::nothing) return true;
  const auto stranger = std::find_if(strangers_.begin(), strangers_.end(),
                                     [&](const UniqueFd& fd) { return fd.get() == client; });
  if (stranger != strangers_.end()) {
    UniqueFd known = std::move(*stranger);
    strangers_.erase(stranger);
    if (received == Received::packet && message.say == Say::hello) {
      on_hello(std::move(known), message);
    }
    return true;
  }
  const auto found = std::find_if(ranks_.begin(), ranks_.end(), [&](const auto& entry) {
    return entry.second->client.get() == client;
  });
  if (found == ranks_.end()) return true;  // replaced meanwhile
  Rank& rank = *found->second;
  if (received != Received::packet) {
    rank.client.reset();
    rank.slots.writer_died();
    return false;
  }
  if (message.say == Say::reserve) on_reserve(rank, message);
  if (message.say == Say::look) on_look(rank, message);
  if (message.say == Say::bye) rank.done = true;
  return true;
}

void Holder::on_hello(UniqueFd client, const Message& message) {
  Status status = lock_folder(message);
  if (!status.ok()) {
    // Of this very job, but on another machine, or of a run that just ends: it will let go.
    const bool ours = status.message().find(lock_purpose(message.job) + ",") != std::string::npos;
    if (ours && !stopping_) {
      return parked_.push_back({std::move(client), message, now_ns() + options_.lock_wait_ns});
    }
    return refuse(client, status);
  }
  admit(std::move(client), message);
}

void Holder::refuse(const UniqueFd& client, const Status& why) {
  Message refusal{.say = Say::refused};
  refusal.text = why.message();
  (void)send_packet(client.get(), refusal);
}

void Holder::admit(UniqueFd client, const Message& message) {
  Rank& rank = rank_of(message.rank);
  rank.client = std::move(client);
  rank.hello = message;
  rank.done = false;
  rank.untold = true;
  newest_attempt_ = std::max(newest_attempt_.load(), message.attempt);
  remember_folder(message.folder);
  // It may have been without a holder when this became known.
  if (last_news_ && last_news_->first == message.attempt && rank.client.valid()) {
    (void)send_packet(rank.client.get(), last_news_->second);
  }
  if (message.rank == 0 && locked_ == message.folder) aim_upload(message);
}

void Holder::serve_parked() {
  std::vector<Parked> waiting;
  waiting.swap(parked_);
  for (Parked& each : waiting) {
    const Status status = lock_folder(each.hello);
    if (status.ok()) {
      admit(std::move(each.client), each.hello);
    } else if (stopping_ || now_ns() > each.until_ns) {
      refuse(each.client, status);
    } else {
      parked_.push_back(std::move(each));
    }
  }
}

void Holder::tell_all(const Message& message) {
  for (const auto& [number, rank] : ranks_) {
    if (rank->client.valid()) (void)send_packet(rank->client.get(), message);
  }
}

void Holder::on_reserve(Rank& rank, const Message& message) {
  rank.bytes = message.bytes;
  rank.count = message.count;
  rank.rows_bytes = message.rows_bytes;
  rank.rows_count = message.rows_count;
  refill(rank);
}

void Holder::on_look(const Rank& rank, const Message& message) {
  for (const std::string& name : message.damaged) {
    const std::string path = rank.hello.folder + "/" + name;
    if (damaged_.size() < kDamagedMax || damaged_.contains(path)) {
      damaged_.insert(path);
    } else {
      options_.note(path + ": damaged; too many are for retention to know of this one");
    }
  }
}

// What was asked for last, whatever was asked for before.
void Holder::refill(Rank& rank) {
  if (rank.allocating) return;
  const RankSlots::Sizes sizes{rank.bytes, rank.rows_bytes};
  rank.slots.drop_unfit(sizes, false);
  const RankSlots::Usable there = rank.slots.usable(sizes);
  const RankSlots::Usable missing{rank.count - std::min(rank.count, there.images),
                                  rank.rows_count - std::min(rank.rows_count, there.rows)};
  if (missing.images == 0 && missing.rows == 0) {
    if (!rank.untold) tell_slots(rank);
  } else {
    allocate(rank, missing);
  }
}

// Slots whose files somebody has cut or removed: whoever touches such memory is killed. Those that
// are on their way to the disk are looked at when that is over.
void Holder::drop_broken() {
  for (const auto& [number, rank] : ranks_) {
    const auto is_written = [&, rank = number](const std::shared_ptr<Slot>& slot) {
      return writing_ && writing_->slots.contains(rank) && writing_->slots.at(rank) == slot;
    };
    const auto broken = rank->slots.drop_broken(is_written);
    for (const auto& slot : broken) {
      const std::string why = slot->path() + ": somebody has removed it or cut it short";
      options_.note(why);
      for (const Held& held : seen_[number]) {
        if (held.slot == slot && held.pinned) give_up(held.facts, why);
      }
    }
    if (!broken.empty() && rank->client.valid() && rank->count > 0) refill(*rank);
  }
}

// A step that was to get to the disk and cannot: nobody waits for it any more.
void Holder::give_up(const SlotFacts& lost, const std::string& why) {
  Message message{.say = Say::failed};
  message.step = lost.step;
  message.text = why + ". Training goes on, and the next save tries again";
  for (const auto& [number, rank] : ranks_) {
    for (const auto& slot : rank->slots.all()) {
      const auto facts = slot->facts();
      if (facts && facts->step == lost.step && facts->attempt == lost.attempt) slot->unpin();
    }
    if (rank->client.valid()) (void)send_packet(rank->client.get(), message);
  }
}

void Holder::allocate(Rank& rank, const RankSlots::Usable& missing) {
  const std::uint64_t room = memory_room(options_.folder);
  const double needed = static_cast<double>(missing.images) * static_cast<double>(rank.bytes) +
                        static_cast<double>(missing.rows) * static_cast<double>(rank.rows_bytes);
  if (needed > static_cast<double>(room)) {
    const std::string rows =
        missing.rows == 0 ? ""
                          : fmt::format(" and {} x {}", missing.rows, size_text(rank.rows_bytes));
    Message refusal{.say = Say::failed};
    refusal.text = fmt::format(
        "the replica of rank {} needs {} x {}{} of memory and {} may be taken in {}: save with "
        "staging=\"stream\", or give the job more memory. Until then nothing is saved; training "
        "goes on",
        rank.hello.rank, missing.images, size_text(rank.bytes), rows, size_text(room),
        options_.folder);
    (void)send_packet(rank.client.get(), refusal);
    return;
  }
  rank.allocating = true;
  std::vector<NewSlot> wanted;
  for (const std::string& path : rank.slots.new_paths(missing.images)) {
    wanted.push_back({path, rank.bytes});
  }
  for (const std::string& path : rank.slots.new_paths(missing.rows)) {
    wanted.push_back({path, rank.rows_bytes});
  }
  memory_.add([this, &rank, wanted] {
    auto slots = allocate_slots(wanted, [this] { return !give_up_; });
    post([this, &rank, slots = std::move(slots)]() mutable {
      rank.allocating = false;
      if (slots.ok()) {
        rank.slots.add(std::move(*slots));
        if (!rank.untold) tell_slots(rank);
        refill(rank);
      } else {
        options_.note(slots.status().message());
        Message refusal{.say = Say::failed};
        refusal.text = slots.status().message();
        (void)send_packet(rank.client.get(), refusal);
      }
    });
  });
}

void Holder::tell_slots(Rank& rank) {
  Message message{.say = Say::slots};
  message.bytes = rank.bytes;
  for (const auto& slot : rank.slots.all()) {
    if (message.paths.size() < slots_max) message.paths.push_back(slot->path());
  }
  if (rank.client.valid() && !send_packet(rank.client.get(), message)) rank.client.reset();
}

}  // namespace headway::replica
