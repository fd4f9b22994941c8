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
#include "checkpoint/prune.h"
#include "replica/abandoned.h"
#include "replica/memory_room.h"
#include "replica/packet_socket.h"
#include "replica/persist.h"

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

std::string gib(std::uint64_t bytes) {
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
  if (message.world_size != message.local_world_size) {
    status = Status::invalid(
        fmt::format("{}: of {} ranks only {} are on this machine; a job on several machines cannot "
                    "be saved by this version",
                    message.folder, message.world_size, message.local_world_size));
  }
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
  tell_slots(rank);
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

void Holder::unlock_folder() {
  aimed_ = {};
  if (uploader_ && !locked_.empty()) uploader_->aim({});
  folder_lock_.reset();
  locked_.clear();
}

void Holder::on_reserve(Rank& rank, const Message& message) {
  rank.bytes = message.bytes;
  rank.count = message.count;
  if (rank.allocating) return;
  rank.slots.drop_smaller(rank.bytes, false);
  const std::uint32_t there = rank.slots.usable(rank.bytes);
  if (there >= rank.count) {
    tell_slots(rank);
  } else {
    allocate(rank, rank.count - there);
  }
}

void Holder::allocate(Rank& rank, std::uint32_t missing) {
  const std::uint64_t room = memory_room(options_.folder);
  if (rank.bytes > room / missing) {
    Message refusal{.say = Say::failed};
    refusal.text = fmt::format(
        "the replica of rank {} needs {} x {} of memory and {} may be taken: save with "
        "staging=\"stream\", or give the job more memory",
        rank.hello.rank, missing, gib(rank.bytes), gib(room));
    (void)send_packet(rank.client.get(), refusal);
    return;
  }
  rank.allocating = true;
  memory_.add([this, &rank, paths = rank.slots.new_paths(missing), bytes = rank.bytes] {
    auto slots = allocate_slots(paths, bytes, [this] { return !give_up_; });
    post([this, &rank, slots = std::move(slots)]() mutable {
      rank.allocating = false;
      if (slots.ok()) {
        rank.slots.add(std::move(*slots));
        tell_slots(rank);
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
  if (const auto choice = next_to_persist(now, ranks_here())) return start(*choice);
  std::uint64_t newest = 0;
  for (const auto& [number, rank] : ranks_) newest = std::max(newest, rank->hello.attempt);
  for (const auto& slot : lost_causes(now, ranks_here(), newest)) slot->unpin();
}

void Holder::write_newest() {
  if (writing_ || ranks_here() == 0) return;
  const auto choice = newest_whole(held(), ranks_here());
  if (!choice || tried_ >= std::pair(choice->attempt, choice->step)) return;
  for (const auto& [number, slot] : choice->slots) {
    if (slot->state() != SlotState::pinned && !slot->try_pin()) return;
  }
  start(*choice);
}

void Holder::start(const Choice& choice) {
  writing_ = choice;
  (void)::futimens(lock_.get(), nullptr);  // in use: memory that is written to does not show it
  std::vector<std::shared_ptr<Slot>> slots;
  const Message* hello = nullptr;
  for (const auto& [number, slot] : choice.slots) {
    slots.push_back(slot);
    if (hello == nullptr && !ranks_[number]->hello.folder.empty()) hello = &ranks_[number]->hello;
  }
  disk_.add([this, choice, slots, told = *hello, uploader = uploader_.get()] {
    const std::int64_t begin_ns = now_ns();
    checkpoint::CheckpointFolder folder(base::real_file_system(), told.folder);
    auto written = persist(folder, told.job, slots, [this] { return !give_up_; });
    const std::int64_t took_ns = now_ns() - begin_ns;
    if (written.ok() && told.keep_last > 0) thin_out(told, uploader);
    Result<std::string> name =
        written.ok() ? Result<std::string>(written->text()) : Result<std::string>(written.status());
    post([this, choice, name, took_ns] { finished(choice, name, took_ns); });
  });
}

// What cannot be removed is no reason to stop training.
void Holder::thin_out(const Message& told, Uploader* uploader) const {
  base::FileSystem& files = base::real_file_system();
  const checkpoint::RetentionPolicy policy{told.keep_last, told.keep_every_ns, false};
  const auto thin = [&](const std::optional<checkpoint::CheckpointName>& read) {
    auto plan = checkpoint::plan_prune(files, told.folder, policy);
    Status status = plan.status();
    for (std::size_t i = 0; plan.ok() && read && i < plan->looks.size(); ++i) {
      if (plan->looks[i].name.text() == read->text()) plan->fates[i] = checkpoint::Fate::left;
    }
    if (plan.ok()) status = checkpoint::execute_prune(files, told.folder, *plan);
    if (!status.ok()) options_.note(status.message());
  };
  if (uploader == nullptr) return thin(std::nullopt);
  uploader->while_reading(thin);
}

void Holder::finished(const Choice& choice, const Result<std::string>& name, std::int64_t took_ns) {
  writing_.reset();
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
  for (const auto& [number, slot] : choice.slots) {
    Rank& rank = *ranks_[number];
    slot->unpin();
    rank.slots.drop_smaller(std::min(rank.bytes, slot->capacity()), true);
    if (rank.client.valid()) (void)send_packet(rank.client.get(), message);
  }
}

}  // namespace headway::replica
