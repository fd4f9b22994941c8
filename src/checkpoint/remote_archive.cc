#include "checkpoint/remote_archive.h"

#include <set>

#include "checkpoint/anchor.h"
#include "object_store/credentials.h"
#include "object_store/place.h"

namespace headway::checkpoint {

using base::Result;
using base::Status;

Result<std::vector<StoredCheckpoint>> RemoteArchive::list() {
  auto names = remote_.names();
  if (!names.ok()) return names.status();
  auto committed = remote_.list();
  if (!committed.ok()) return committed.status();
  std::set<std::string> whole;
  for (const CheckpointName& name : *committed) whole.insert(name.text());
  std::vector<StoredCheckpoint> out;
  for (const CheckpointName& name : *names) out.push_back({name, whole.contains(name.text())});
  return out;
}

Result<std::string> RemoteArchive::manifest_text(const CheckpointName& name) {
  return remote_.manifest_text(name);
}

Status RemoteArchive::upload(const CheckpointFolder& from, const UploadPlan::One& one) {
  return remote_.upload(from, from.files(), one.name, nullptr, one.as).status();
}

Status RemoteArchive::anchor(const CheckpointFolder& from, const UploadPlan::One& one) {
  auto there = remote_.is_anchor(one.as);
  if (!there.ok()) return there.status();
  if (*there) return {};
  return remote_.set_anchor(one.as, anchor_note(from.files(), from.path_of(one.name)));
}

Result<StoredState> RemoteArchive::state_of(const CheckpointName& name) {
  auto look = remote_.look_at(name);
  if (!look.ok()) return look.status();
  return StoredState{look->state.ok(), look->anchor};
}

Status RemoteArchive::remove(const CheckpointName& name) {
  return remote_.remove(name);
}

Result<std::unique_ptr<Archive>> open_archive(const std::string& place,
                                              const std::atomic<bool>& stop) {
  auto parsed = object_store::parse_place(place);
  if (!parsed.ok()) return parsed.status();
  auto settings = object_store::find_settings({});
  if (!settings.ok()) return settings.status();
  object_store::StoreOptions options;
  options.stop = &stop;
  return std::unique_ptr<Archive>(std::make_unique<RemoteArchive>(
      object_store::open_store(std::move(*settings), parsed->bucket, options), parsed->prefix));
}

}  // namespace headway::checkpoint
