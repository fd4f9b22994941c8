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
#include "base/duration.h"
#include "base/file_system.h"
#include "replica/abandoned.h"
#include "replica/memory_room.h"
#include "replica/packet_socket.h"
#include "replica/save_step.h"

namespace headway::replica {
namespace {

using base::Result;
using base::Status;
using base::UniqueFd;

constexpr std::size_t kStrangersMax = 1024;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kLookNs = 100 * kMillisecond;  // whether somebody waits for us
constexpr std::int64_t kUploadWaitMaxS = 24 * 3600;

std::int64_t now_ns() {
  return base::clock_ns(CLOCK_MONOTONIC);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1 << 30) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

}  // namespace

Result<std::int64_t> upload_wait_of(const char* text) {
  if (text == nullptr || *text == '\0') return HolderOptions().upload_wait_ns;
  return base::parse_time_option("HEADWAY_CKPT_UPLOAD_WAIT", text, 0, kUploadWaitMaxS);
}

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
    consider();
    tell_waiting();
    const std::int64_t alone_ns = has_clients() ? 0 : now_ns() - alone_since_ns_;
    const bool orphaned = options_.orphan_ns >= 0 && alone_ns > options_.orphan_ns;
    const bool all_ended = options_.linger_ns >= 0 && all_done();
    if (stopping_ || orphaned || all_ended) write_newest();
    const bool over = all_ended || (options_.linger_ns >= 0 && alone_ns > options_.linger_ns);
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
  if (!last_.ok()) return last_;
  for (const auto& [number, rank] : ranks_) rank->slots.remove_all();
  ::unlink((options_.folder + "/" + kHolderSocket).c_str());
  ::unlink((options_.folder + "/" + kHolderLog).c_str());
  ::unlink((options_.folder + "/" + kHolderWanted).c_str());
  ::unlink((options_.folder + "/" + kHolderLock).c_str());
  ::rmdir(options_.folder.c_str());
  return {};
}

bool Holder::waits_for_upload(std::int64_t now_ns) {
  if (!uploader_ || uploader_->settled()) return false;
  if (!upload_until_ns_) {
    upload_until_ns_ = now_ns + options_.upload_wait_ns;
    uploader_->hurry();
  }
  // One more try is what it gets; what fails then is left to the next holder.
  const bool wanted = ::access((options_.folder + "/" + kHolderWanted).c_str(), F_OK) == 0;
  if (!uploader_->failed() && !wanted && now_ns < *upload_until_ns_) return true;
  options_.note("the newest checkpoint is not in the store yet: the next run goes on with it");
  return false;
}

int Holder::wait_ms(std::int64_t now_ns) const {
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  if (upload_until_ns_) until = now_ns + kLookNs;
  if ((stopping_ || has_clients()) && !upload_until_ns_) return -1;
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
    if (received == Received::packet && message.say == Say::hello) on_hello(*stranger, message);
    strangers_.erase(stranger);
    return true;
  }
  const auto found = std::find_if(ranks_.begin(), ranks_.end(), [&](const auto& entry) {
    return entry.second->client.get() == client;
  });
  if (found == ranks_.end()) return true;  // replaced meanwhile
  Rank& rank = *found->second;
  if (received != Received::packet) {
    rank.client.reset();
    return false;
  }
  if (message.say == Say::reserve) on_reserve(rank, message);
  if (message.say == Say::bye) rank.done = true;
  return true;
}

void Holder::on_hello(UniqueFd& client, const Message& message) {
  Status status = lock_folder(message);
  if (!status.ok()) {
    Message refusal{.say = Say::refused};
    refusal.text = status.message();
    (void)send_packet(client.get(), refusal);
    return;
  }
  Rank& rank = rank_of(message.rank);
  rank.client = std::move(client);
  rank.hello = message;
  rank.done = false;
  rank.untold = true;
  // It may have been without a holder when this became known.
  if (last_news_ && last_news_->first == message.attempt && rank.client.valid()) {
    (void)send_packet(rank.client.get(), last_news_->second);
  }
  if (message.rank == 0 && locked_ == message.folder) aim_upload(message);
}

// The one who commits uploads: of several machines, the one with rank 0.
void Holder::aim_upload(const Message& hello) {
  UploadTarget target{hello.upload, hello.folder, hello.keep_uploaded};
  if (hello.upload.empty()) target = {};
  if (target == aimed_) return;
  aimed_ = target;
  if (!options_.open_archive) {
    tell_all({.say = Say::not_uploaded, .text = "this holder cannot upload: it has no network"});
    return;
  }
  if (!uploader_) {
    UploaderOptions options;
    options.open = options_.open_archive;
    options.uploaded = [this](const checkpoint::CheckpointName& name, const std::string& place,
                              std::uint32_t skipped) {
      post([this, name, place, skipped] {
        if (skipped > 0) {
          options_.note(fmt::format(
              "{}: {} before it were not uploaded, a newer one was there first", place, skipped));
        }
        tell_all({.say = Say::uploaded, .step = name.step, .skipped = skipped, .text = place});
      });
    };
    options.troubled = [this](const std::string& problem) {
      post([this, problem] {
        options_.note("not uploaded, and tried again: " + problem);
        tell_all({.say = Say::not_uploaded, .text = problem});
      });
    };
    options.rested = [this] { post([] {}); };
    uploader_ = std::make_unique<Uploader>(std::move(options));
  }
  uploader_->aim(target);
}

void Holder::tell_all(const Message& message) {
  for (const auto& [number, rank] : ranks_) {
    if (rank->client.valid()) (void)send_packet(rank->client.get(), message);
  }
}

// As long as somebody trains, nobody else saves there or removes anything. Of several machines the
// one with rank 0 has the lock for all.
Status Holder::lock_folder(const Message& hello) {
  const bool ours = hello.rank == 0 || hello.world_size == hello.local_world_size;
  if (!ours || (folder_lock_ && locked_ == hello.folder)) return {};
  if (folder_lock_ && has_clients()) {
    return Status::invalid(fmt::format(
        "{}: ranks of one job save into different folders, {} and it", hello.folder, locked_));
  }
  unlock_folder();
  if (Status made = base::make_dirs(hello.folder); !made.ok()) return made;
  auto lock = checkpoint::FolderLock::take(hello.folder, "the job " + hello.job);
  if (!lock.ok()) return lock.status();
  folder_lock_ = std::move(*lock);
  locked_ = hello.folder;
  return {};
}

// Somebody may have removed the folder under us: then our lock is on a file that nobody finds, and
// another job could take the new one.
Status Holder::keep_lock(const Message& hello) {
  if (folder_lock_ && folder_lock_->is_at(hello.folder)) return {};
  unlock_folder();
  Status status = lock_folder(hello);
  if (status.ok()) aim_upload(hello);
  return status;
}

void Holder::unlock_folder() {
  aimed_ = {};
  if (uploader_ && !locked_.empty()) uploader_->aim({});
  folder_lock_.reset();
  locked_.clear();
}

void Holder::on_reserve(Rank& rank, const Message& message) {
  rank.bytes = message.bytes;
  rank.count = message.count;
  rank.rows_bytes = message.rows_bytes;
  rank.rows_count = message.rows_count;
  refill(rank);
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

// ---- Disk.

HeldByRank Holder::held() const {
  HeldByRank held;
  for (const auto& [number, rank] : ranks_) {
    for (const auto& slot : rank->slots.all()) {
      if (const auto facts = slot->facts()) {
        held[number].push_back({slot, slot->state() == SlotState::pinned, *facts});
      } else if (const auto before = slot->facts_before()) {
        held[number].push_back({slot, false, *before, true});
      }
    }
  }
  return held;
}

std::uint32_t Holder::ranks_here() const {
  for (const auto& [number, rank] : ranks_) {
    if (!rank->hello.folder.empty()) return rank->hello.local_world_size;
  }
  return 0;
}

void Holder::consider() {
  if (writing_ || ranks_here() == 0) return;
  const HeldByRank now = held();
  seen_ = now;
  const auto whole = next_to_persist(now, ranks_here());
  const auto rows = next_rows(now, ranks_here());
  // In the order of their steps: the disk must not end with an older one.
  if (rows && (!whole || is_before(rows->rows, *whole))) return start_rows(*rows);
  if (whole) return start(*whole);
  std::uint64_t newest = 0;
  for (const auto& [number, rank] : ranks_) newest = std::max(newest, rank->hello.attempt);
  for (const auto& slot : lost_causes(now, ranks_here(), newest)) slot->unpin();
  drop_lost_rows(now, newest);
}

void Holder::write_newest() {
  if (writing_ || ranks_here() == 0) return;
  const auto choice = newest_whole(held(), ranks_here());
  if (!choice || tried_ >= std::pair(choice->attempt, choice->step)) return;
  start(*choice);
}

void Holder::start(const Choice& choice) {
  for (const auto& [number, slot] : choice.slots) {
    if (slot->state() != SlotState::pinned && !slot->try_pin()) return;
  }
  writing_ = choice;
  (void)::futimens(lock_.get(), nullptr);  // in use: memory that is written to does not show it
  const Message told = told_by(choice);
  if (Status locked = keep_lock(told); !locked.ok()) {
    return finished(choice, with_advice(locked, told.folder), 0);
  }
  disk_.add([this, choice, order = order_of(told)] {
    const std::int64_t begin_ns = now_ns();
    auto written = save_whole(choice.slots, order, [this] { return !give_up_; });
    const std::int64_t took_ns = now_ns() - begin_ns;
    Result<std::string> name =
        written.ok() ? Result<std::string>(written->text()) : Result<std::string>(written.status());
    post([this, choice, name, took_ns] { finished(choice, name, took_ns); });
  });
}

Message Holder::told_by(const Choice& choice) const {
  for (const auto& [number, slot] : choice.slots) {
    const Message& hello = ranks_.at(number)->hello;
    if (!hello.folder.empty()) return hello;
  }
  return {};
}

SaveOrder Holder::order_of(const Message& told) const {
  SaveOrder order{told.folder, told.job, {told.keep_last, told.keep_every_ns, false}};
  if (Uploader* const uploader = uploader_.get()) {
    order.while_reading = [uploader](const auto& work) { uploader->while_reading(work); };
  }
  return order;
}

// On the disk's thread: images of all ranks, and a chain of deltas may begin there.
Result<checkpoint::CheckpointName> Holder::save_whole(const SlotByRank& images,
                                                      const SaveOrder& order,
                                                      const std::function<bool()>& goes_on) {
  std::vector<std::shared_ptr<Slot>> slots;
  std::map<std::uint32_t, SlotFacts> facts;
  for (const auto& [number, slot] : images) {
    slots.push_back(slot);
    if (const auto sealed = slot->facts()) facts[number] = *sealed;
  }
  auto written = save_step(base::real_file_system(), order, slots, goes_on, options_.note);
  if (written.ok()) chain_.begin(order.folder, written->text(), facts);
  return written;
}

void Holder::finished(const Choice& choice, const Result<std::string>& name, std::int64_t took_ns) {
  writing_.reset();
  // First the word, then the deed: whoever is killed between the two leaves a slot that is pinned,
  // and the next one writes and says it again.
  tell_end(choice, name, took_ns);
  for (const auto& [number, slot] : choice.slots) {
    Rank& rank = *ranks_[number];
    if (slot->is_intact()) slot->unpin();
    rank.slots.drop_unfit({std::min(rank.bytes, slot->capacity()), rank.rows_bytes}, true);
  }
}

void Holder::tell_end(const Choice& choice, const Result<std::string>& name, std::int64_t took_ns) {
  last_ = name.status();
  const auto key = std::pair(choice.attempt, choice.step);
  // A failed one is not tried again before the end: the next save comes first.
  tried_ = std::max(tried_.value_or(key), key);
  if (!last_.ok()) options_.note(last_.message());
  if (last_.ok() && uploader_) uploader_->look();
  Message message{.say = last_.ok() ? Say::durable : Say::failed};
  message.step = choice.step;
  message.nanoseconds = took_ns;
  message.text = last_.ok() ? name.value() : last_.message();
  last_news_ = {choice.attempt, message};
  for (const auto& [number, slot] : choice.slots) {
    const Rank& rank = *ranks_[number];
    if (rank.client.valid()) (void)send_packet(rank.client.get(), message);
  }
}

}  // namespace headway::replica
