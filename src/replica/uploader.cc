#include "replica/uploader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "checkpoint/anchor.h"
#include "checkpoint/look.h"

namespace headway::replica {

using base::Result;
using base::Status;
using checkpoint::CheckpointFolder;
using checkpoint::CheckpointName;
using checkpoint::LocalCheckpoint;
using checkpoint::StoredCheckpoint;
using checkpoint::UploadPlan;

Uploader::Uploader(UploaderOptions options)
    : options_(std::move(options)),
      back_off_(options_.shortest_ns, options_.longest_ns,
                static_cast<std::uint64_t>(base::monotonic_ns())) {
  thread_ = std::thread([this] { stay(); });
}

Uploader::~Uploader() {
  give_up();
  thread_.join();
}

void Uploader::aim(const UploadTarget& target) {
  const std::lock_guard lock(mutex_);
  target_ = target;
  dirty_ = hurried_ = true;
  changed_.notify_all();
}

void Uploader::look() {
  const std::lock_guard lock(mutex_);
  dirty_ = true;
  changed_.notify_all();
}

void Uploader::hurry() {
  const std::lock_guard lock(mutex_);
  dirty_ = dirty_ || failed_;
  hurried_ = true;
  changed_.notify_all();
}

void Uploader::give_up() {
  stop_ = true;
  const std::lock_guard lock(mutex_);
  leave_ = true;
  changed_.notify_all();
}

// With the lock.
bool Uploader::has_to_go() const {
  return dirty_ && !target_.place.empty();
}

bool Uploader::settled() const {
  const std::lock_guard lock(mutex_);
  return target_.place.empty() || (!has_to_go() && !busy_ && !failed_);
}

bool Uploader::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_ && !busy_ && !hurried_;
}

void Uploader::while_reading(
    const std::function<void(const std::optional<CheckpointName>&)>& work) {
  const std::lock_guard lock(reading_mutex_);
  work(reading_);
}

// ---- The thread.

void Uploader::stay() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return leave_ || has_to_go(); });
    if (leave_) return;
    dirty_ = hurried_ = false;
    busy_ = true;
    const UploadTarget target = target_;
    lock.unlock();
    const Status status = pass(target);
    if (!stop_) tell(status);
    lock.lock();
    busy_ = false;
    failed_ = !status.ok();
    if (failed_) {
      dirty_ = true;
      lock.unlock();
      options_.rested();
      lock.lock();
      const auto wait = std::chrono::nanoseconds(back_off_.next_ns());
      changed_.wait_for(lock, wait, [this] { return leave_ || hurried_; });
    } else {
      back_off_.reset();
      lock.unlock();
      options_.rested();
      lock.lock();
    }
  }
}

void Uploader::tell(const Status& status) {
  if (status.message() == told_) return;
  told_ = status.message();
  if (!status.ok()) options_.troubled(told_);
}

Status Uploader::pass(const UploadTarget& target) {
  const CheckpointFolder folder(base::real_file_system(), target.folder);
  if (known_target_ != target) archive_.reset();
  known_target_ = target;
  while (!stop_) {
    auto local = folder_now(folder);
    if (!local.ok()) return local.status();
    if (local->empty()) return {};  // nothing to ask the store about
    Status status = connect(target);
    if (status.ok()) status = learn(*local);
    if (!status.ok()) {
      archive_.reset();
      return status;
    }
    const UploadPlan plan = plan_upload(*local, store_);
    count_skipped(plan);
    const auto next = plan.next ? std::find_if(local->begin(), local->end(),
                                               [&](const LocalCheckpoint& each) {
                                                 return each.name.text() == plan.next->name.text();
                                               })
                                : local->end();
    if (next == local->end()) {
      status = tidy(folder, target, plan);
      if (!status.ok()) archive_.reset();
      return status;
    }
    if (status = send(folder, *plan.next, next->manifest); !status.ok()) {
      archive_.reset();  // what is there is looked up again, with the keys of that time
      return status;
    }
  }
  return Status::io("given up");
}

// Good ones only: what is damaged here must not look good there. Whole ones only: a delta would be
// of no use without its base, which has another name after it was fetched.
Result<std::vector<LocalCheckpoint>> Uploader::folder_now(const CheckpointFolder& folder) const {
  auto names = folder.list();
  if (!names.ok()) return names.status();
  std::vector<LocalCheckpoint> out;
  for (const CheckpointName& name : *names) {
    if (damaged_.contains(name.text())) continue;
    const auto manifest = folder.read_sized(name);
    if (!manifest.ok() || !manifest.value().base.empty()) continue;
    const std::string path = folder.path_of(name);
    auto text =
        base::read_all(folder.files(), fmt::format("{}/{}", path, checkpoint::manifest_name),
                       checkpoint::manifest_bytes_max);
    if (!text.ok()) continue;  // removed meanwhile
    out.push_back({name, std::move(*text), checkpoint::is_anchor(folder.files(), path)});
  }
  return out;
}

Status Uploader::connect(const UploadTarget& target) {
  if (archive_) return {};
  auto archive = options_.open(target.place, stop_);
  if (!archive.ok()) return archive.status();
  auto listed = (*archive)->list();
  if (!listed.ok()) return listed.status();
  archive_ = std::move(*archive);
  store_ = std::move(*listed);
  looked_at_.clear();
  anchored_.clear();
  return {};
}

// Of what is there, whatever may be one of ours. One whose files are not what its manifest says is
// none, and goes up once more.
Status Uploader::learn(const std::vector<LocalCheckpoint>& folder) {
  for (StoredCheckpoint& each : store_) {
    const bool ours = std::any_of(folder.begin(), folder.end(), [&](const LocalCheckpoint& local) {
      return local.name.step == each.name.step;
    });
    if (!ours || !each.committed || !looked_at_.insert(each.name.text()).second) continue;
    auto state = archive_->state_of(each.name);
    if (!state.ok()) return state.status();
    auto text = archive_->manifest_text(each.name);
    if (!text.ok()) return text.status();
    each.committed = state->good;
    each.manifest = std::move(*text);
    if (state->anchor) anchored_.insert(each.name.text());
  }
  return {};
}

void Uploader::count_skipped(const UploadPlan& plan) {
  for (const CheckpointName& name : plan.skipped) {
    if (skipped_.insert(name.text()).second) ++newly_skipped_;
  }
}

Status Uploader::send(const CheckpointFolder& folder, const UploadPlan::One& one,
                      const std::string& manifest) {
  {
    const std::lock_guard lock(reading_mutex_);
    // Whoever removes has had this lock: it is there, or it was removed before.
    if (!checkpoint::is_checkpoint(folder.files(), folder.path_of(one.name))) return {};
    reading_ = one.name;
  }
  const Status status = archive_->upload(folder, one);
  {
    const std::lock_guard lock(reading_mutex_);
    reading_.reset();
  }
  if (status.code() == base::Code::corrupt && !folder.verify(one.name).ok()) {
    // Damaged on this side: the next one is another.
    damaged_.insert(one.name.text());
  }
  if (!status.ok()) return status;
  std::erase_if(store_,
                [&](const StoredCheckpoint& each) { return each.name.text() == one.as.text(); });
  store_.push_back({one.as, true, manifest});
  std::sort(store_.begin(), store_.end(), [](const StoredCheckpoint& a, const StoredCheckpoint& b) {
    return std::pair(a.name.sequence, a.name.step) > std::pair(b.name.sequence, b.name.step);
  });
  looked_at_.insert(one.as.text());
  options_.uploaded(one.name, fmt::format("{}/{}", known_target_.place, one.as.text()),
                    std::exchange(newly_skipped_, 0));
  return {};
}

// When all is there: anchors that were set later; and where so many only are wanted, what is too
// old, and what was left half.
Status Uploader::tidy(const CheckpointFolder& folder, const UploadTarget& target,
                      const UploadPlan& plan) {
  for (const UploadPlan::One& one : plan.anchors) {
    if (anchored_.contains(one.as.text())) continue;
    if (Status status = archive_->anchor(folder, one); !status.ok()) return status;
    anchored_.insert(one.as.text());
  }
  if (target.keep == 0) return {};
  auto goes = plan_store_prune(
      store_, target.keep, [this](const CheckpointName& name) { return archive_->state_of(name); });
  if (!goes.ok()) return goes.status();
  goes->insert(goes->end(), plan.waste.begin(), plan.waste.end());
  for (const CheckpointName& name : *goes) {
    if (Status status = archive_->remove(name); !status.ok()) return status;
    std::erase_if(store_,
                  [&](const StoredCheckpoint& each) { return each.name.text() == name.text(); });
  }
  return {};
}

}  // namespace headway::replica
