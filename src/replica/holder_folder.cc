// The part of Holder that deals with the folder of checkpoints as one that others use, too: its
// lock, and the copies of what is in it in a store.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/file_system.h"
#include "checkpoint/writable.h"
#include "replica/holder.h"

namespace headway::replica {
namespace {

using base::Result;
using base::Status;

constexpr std::int64_t kUploadWaitMaxS = 24 * 3600;

// It commits: all ranks are here, or the first one of several machines' is.
bool leads(const Message& hello) {
  return hello.rank == 0 || hello.world_size == hello.local_world_size;
}

}  // namespace

std::string lock_purpose(const std::string& job) {
  return "the job " + job;
}

Result<std::int64_t> upload_wait_of(const char* text) {
  if (text == nullptr || *text == '\0') return HolderOptions().upload_wait_ns;
  return base::parse_time_option("HEADWAY_CKPT_UPLOAD_WAIT", text, 0, kUploadWaitMaxS);
}

// As long as somebody trains, nobody else saves there or removes anything. Of several machines the
// one with rank 0 has the lock for all.
Status Holder::lock_folder(const Message& hello) {
  if (!leads(hello) || (folder_lock_ && locked_ == hello.folder)) return {};
  if (folder_lock_ && has_clients()) {
    return Status::invalid(fmt::format(
        "{}: ranks of one job save into different folders, {} and it", hello.folder, locked_));
  }
  unlock_folder();
  if (Status made = base::make_dirs(hello.folder); !made.ok()) {
    return checkpoint::with_unwritable_advice(made, hello.folder);
  }
  auto lock = checkpoint::FolderLock::take(hello.folder, lock_purpose(hello.job));
  if (!lock.ok()) return lock.status();
  folder_lock_ = std::move(*lock);
  locked_ = hello.folder;
  return {};
}

Holder::KnownFolder Holder::look_at_folder(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {path, info.st_dev, info.st_ino};
}

void Holder::remember_folder(const std::string& folder) {
  known_ = look_at_folder(folder);
}

bool Holder::was_removed(const std::string& folder) const {
  return known_.path == folder && look_at_folder(folder) != known_;
}

// Somebody may have removed the folder under us: then our lock is on a file that nobody finds, and
// another job could take the new one.
Status Holder::keep_lock(const Message& hello) {
  if (!has_clients() && was_removed(hello.folder)) {
    // Who removed it when the training was over would find in it what he had done away with.
    return Status::not_found(hello.folder +
                             ": somebody has removed it, and nobody trains: nothing is written "
                             "there, the copy stays in memory for a while");
  }
  Status status;
  if (!folder_lock_ || !folder_lock_->is_at(hello.folder)) {
    unlock_folder();
    status = lock_folder(hello);
    if (status.ok() && folder_lock_) aim_upload(hello);
  }
  if (status.ok() && has_clients()) remember_folder(hello.folder);
  return status.ok() ? status : with_advice(status, hello.folder);
}

// Rank 0 is on another machine by now: that one commits.
void Holder::leave_folder() {
  if (!folder_lock_ || (uploader_ && !uploader_->settled() && !uploader_->failed())) return;
  bool any = false;
  for (const auto& [number, rank] : ranks_) {
    if (rank->hello.attempt != newest_attempt_ || rank->hello.folder.empty()) continue;
    any = true;
    if (leads(rank->hello)) return;
  }
  if (any) unlock_folder();
}

void Holder::unlock_folder() {
  aimed_ = {};
  if (uploader_ && !locked_.empty()) uploader_->aim({});
  folder_lock_.reset();
  locked_.clear();
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

bool Holder::is_wanted() const {
  return ::access((options_.folder + "/" + kHolderWanted).c_str(), F_OK) == 0;
}

bool Holder::waits_for_upload(std::int64_t now_ns) {
  if (!uploader_ || uploader_->settled()) return false;
  if (!upload_until_ns_) {
    upload_until_ns_ = now_ns + options_.upload_wait_ns;
    uploader_->hurry();
  }
  // One more try is what it gets; what fails then is left to the next holder.
  if (!uploader_->failed() && !is_wanted() && now_ns < *upload_until_ns_) return true;
  options_.note("the newest checkpoint is not in the store yet: the next run goes on with it");
  return false;
}

}  // namespace headway::replica
