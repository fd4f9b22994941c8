#include "checkpoint/remote.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checkpoint/anchor.h"
#include "checkpoint/checked_source.h"

namespace headway::checkpoint {
namespace {

using base::Result;
using base::Status;
using object_store::Listing;
using object_store::ObjectEntry;

constexpr std::string_view kLatest = "LATEST";

}  // namespace

std::string RemoteCheckpoints::key(const std::string& rest) const {
  return prefix_.empty() ? rest : prefix_ + "/" + rest;
}
std::string RemoteCheckpoints::folder_key(const CheckpointName& name) const {
  return key(name.text()) + "/";
}
std::string RemoteCheckpoints::manifest_key(const CheckpointName& name) const {
  return folder_key(name) + std::string(manifest_name);
}
std::string RemoteCheckpoints::anchor_key(const CheckpointName& name) const {
  return folder_key(name) + std::string(anchor_name);
}
std::string RemoteCheckpoints::place_of(const CheckpointName& name) const {
  return store_.place(key(name.text()));
}

Result<std::vector<CheckpointName>> RemoteCheckpoints::names() const {
  const std::string front = key("");
  auto listing = store_.list(front, "/");
  if (!listing.ok()) return listing.status();
  std::vector<CheckpointName> names;
  for (const std::string& each : listing->prefixes) {
    std::string_view text = each;
    if (!text.starts_with(front) || !text.ends_with('/')) continue;
    text = text.substr(front.size(), text.size() - front.size() - 1);
    if (const auto name = CheckpointName::parse(text)) names.push_back(*name);
  }
  std::sort(names.begin(), names.end(), [](const CheckpointName& a, const CheckpointName& b) {
    return std::pair(a.sequence, a.step) > std::pair(b.sequence, b.step);
  });
  return names;
}

Result<std::vector<CheckpointName>> RemoteCheckpoints::list() const {
  auto all = names();
  if (!all.ok()) return all.status();
  std::vector<char> committed(all->size(), 0);
  std::atomic<bool> stop = false;
  Status status = base::in_parallel(
      all->size(), store_.options().connections, stop, [&](std::size_t, std::size_t index) {
        auto info = store_.head(manifest_key((*all)[index]));
        committed[index] = info.ok() ? 1 : 0;
        return info.status().code() == base::Code::not_found ? Status() : info.status();
      });
  if (!status.ok()) return status;
  std::vector<CheckpointName> names;
  for (std::size_t i = 0; i < committed.size(); ++i) {
    if (committed[i] != 0) names.push_back((*all)[i]);
  }
  return names;
}

Result<std::string> RemoteCheckpoints::manifest_text(const CheckpointName& name) const {
  return store_.get_text(manifest_key(name), manifest_bytes_max);
}

Result<Manifest> RemoteCheckpoints::read(const CheckpointName& name) const {
  auto text = manifest_text(name);
  if (!text.ok()) return text.status();
  return parse(name, *text);
}

Result<Manifest> RemoteCheckpoints::parse(const CheckpointName& name,
                                          const std::string& text) const {
  const std::string place = store_.place(manifest_key(name));
  auto manifest = parse_manifest(text, place);
  if (manifest.ok() && manifest->step != name.step) {
    return Status::corrupt(
        fmt::format("{}: of step {}, its folder says {}", place, manifest->step, name.step));
  }
  return manifest;
}

Status RemoteCheckpoints::check_files(const CheckpointName& name, const Manifest& manifest) const {
  auto listing = store_.list(folder_key(name));
  if (!listing.ok()) return listing.status();
  return check_files(name, manifest, *listing);
}

Status RemoteCheckpoints::check_files(const CheckpointName& name, const Manifest& manifest,
                                      const Listing& listing) const {
  std::map<std::string_view, std::uint64_t> sizes;
  for (const ObjectEntry& object : listing.objects) sizes[object.key] = object.bytes;
  for (const ManifestFile& entry : manifest.files) {
    const std::string object = folder_key(name) + entry.name;
    const auto it = sizes.find(object);
    if (it == sizes.end()) {
      return Status::corrupt(store_.place(object) + ": not there, its manifest names it");
    }
    if (it->second != entry.bytes) {
      return Status::corrupt(fmt::format("{}: {} bytes, its manifest says {}", store_.place(object),
                                         it->second, entry.bytes));
    }
  }
  return {};
}

Result<std::optional<CheckpointFolder::Good>> RemoteCheckpoints::newest_good(
    std::vector<std::string>& passed) const {
  auto all = names();
  if (!all.ok()) return all.status();
  for (const CheckpointName& name : *all) {
    auto manifest = read(name);
    Status status = manifest.status();
    if (status.code() == base::Code::not_found) continue;  // being written, or waste
    if (status.ok()) status = check_files(name, *manifest);
    if (status.ok()) {
      return std::optional<CheckpointFolder::Good>({name, std::move(*manifest)});
    }
    // A store that does not answer says nothing about the checkpoint.
    if (status.code() != base::Code::corrupt && status.code() != base::Code::unsupported) {
      return status;
    }
    passed.push_back(status.message());
  }
  return std::optional<CheckpointFolder::Good>();
}

Result<Look> RemoteCheckpoints::look_at(const CheckpointName& name) const {
  Look look;
  look.name = name;
  look.path = place_of(name);
  auto listing = store_.list(folder_key(name));
  if (!listing.ok()) return listing.status();
  look.anchor =
      std::any_of(listing->objects.begin(), listing->objects.end(),
                  [&](const ObjectEntry& object) { return object.key == anchor_key(name); });
  auto manifest = read(name);
  look.state = manifest.status();
  look.unfinished = look.state.code() == base::Code::not_found;
  if (manifest.ok()) {
    look.manifest = std::move(*manifest);
    look.bytes = total_bytes(look.manifest);
    look.state = check_files(name, look.manifest, *listing);
  }
  // A store that does not answer says nothing about the checkpoint.
  const base::Code code = look.state.code();
  const bool known = look.state.ok() || look.unfinished || code == base::Code::corrupt ||
                     code == base::Code::unsupported;
  if (!known) return look.state;
  return look;
}

Result<std::vector<Look>> RemoteCheckpoints::look(std::size_t good_max) const {
  auto all = names();
  if (!all.ok()) return all.status();
  std::vector<Look> looks;
  std::size_t good = 0;
  for (const CheckpointName& name : *all) {
    if (good == good_max) break;
    auto one = look_at(name);
    if (!one.ok()) return one.status();
    good += one->state.ok() ? 1 : 0;
    looks.push_back(std::move(*one));
  }
  return looks;
}

Status RemoteCheckpoints::set_anchor(const CheckpointName& name, const std::string& note) {
  return store_.put(anchor_key(name), base::bytes_of(note + "\n"));
}

Result<bool> RemoteCheckpoints::is_anchor(const CheckpointName& name) const {
  auto info = store_.head(anchor_key(name));
  if (!info.ok() && info.status().code() != base::Code::not_found) return info.status();
  return info.ok();
}

Status RemoteCheckpoints::send_files(const CheckpointFolder& from, base::FileSystem& files,
                                     const CheckpointName& name, const CheckpointName& as,
                                     const Manifest& manifest, CopyReport& report,
                                     std::atomic<std::uint64_t>* done_bytes) {
  std::vector<const ManifestFile*> small, large;
  for (const ManifestFile& entry : manifest.files) {
    (entry.bytes <= store_.options().part_bytes ? small : large).push_back(&entry);
  }
  std::atomic<std::uint64_t> sent = 0;
  const auto send = [&](const ManifestFile& entry) {
    CheckedSource source(files, from.path_of(name) + "/" + entry.name, entry);
    auto done = store_.upload(folder_key(as) + entry.name, source, done_bytes);
    if (done.ok()) sent += done->bytes_sent;
    return done.status();
  };
  // A large one uses all connections itself.
  std::atomic<bool> stop = false;
  Status status =
      base::in_parallel(small.size(), store_.options().connections, stop,
                        [&](std::size_t, std::size_t index) { return send(*small[index]); });
  for (const ManifestFile* entry : large) {
    if (status.ok()) status = send(*entry);
  }
  report.bytes_sent += sent;
  return status;
}

// LATEST names the newest that is committed, whichever was copied last.
Status RemoteCheckpoints::point_latest() {
  auto all = names();
  if (!all.ok()) return all.status();
  for (const CheckpointName& name : *all) {
    auto info = store_.head(manifest_key(name));
    if (info.status().code() == base::Code::not_found) continue;
    if (!info.ok()) return info.status();
    const std::string text = name.text() + "\n";
    return store_.put(key(std::string(kLatest)), base::bytes_of(text));
  }
  return store_.remove(key(std::string(kLatest)));
}

Result<CopyReport> RemoteCheckpoints::upload(const CheckpointFolder& from, base::FileSystem& files,
                                             const CheckpointName& name,
                                             std::atomic<std::uint64_t>* done_bytes,
                                             std::optional<CheckpointName> as) {
  const CheckpointName to = as.value_or(name);
  auto manifest = from.read(name);
  if (!manifest.ok()) return manifest.status();
  if (!manifest->base.empty()) {
    // Its base may get another name when it is fetched.
    return Status::invalid(fmt::format(
        "{}: only what changed since {}; make a whole one of it first (`headway ckpt restore-to {} "
        "FOLDER --ranks {}`), and copy that",
        from.path_of(name), manifest->base, from.path_of(name), manifest->world_size));
  }
  const std::string path = fmt::format("{}/{}", from.path_of(name), manifest_name);
  auto text = base::read_all(files, path, manifest_bytes_max);
  if (!text.ok()) return text.status();
  CopyReport report{.name = to, .files = manifest->files.size()};
  bool unchecked = false;
  for (const ManifestFile& entry : manifest->files) {
    report.bytes += entry.bytes;
    unchecked |= entry.chunk_bytes > checked_chunk_bytes_max;
  }
  auto there = manifest_text(to);
  if (!there.ok() && there.status().code() != base::Code::not_found) return there.status();
  if (there.ok() && *there != *text) {
    return Status::invalid(
        fmt::format("{}: another checkpoint of this name is there: copy to "
                    "another folder, or remove that one first",
                    place_of(to)));
  }
  report.was_there = there.ok() && check_files(to, *manifest).ok();
  if (report.was_there) {
    if (done_bytes != nullptr) *done_bytes += report.bytes;
    if (Status status = point_latest(); !status.ok()) return status;
    return report;
  }
  if (there.ok()) {
    // Its files are not what it says: it stops being one before they change.
    if (Status status = store_.remove(manifest_key(to)); !status.ok()) return status;
  }
  if (unchecked) {
    if (Status status = from.verify(name); !status.ok()) return status;
  }
  Status status = send_files(from, files, name, to, *manifest, report, done_bytes);
  if (!status.ok()) return status;
  // Before it is one: nobody may take it for one that may go.
  if (checkpoint::is_anchor(files, from.path_of(name))) {
    status = set_anchor(to, anchor_note(files, from.path_of(name)));
    if (!status.ok()) return status;
  }
  if (status = store_.put(manifest_key(to), base::bytes_of(*text)); !status.ok()) return status;
  report.bytes_sent += text->size();
  if (status = point_latest(); !status.ok()) return status;
  return report;
}

Status RemoteCheckpoints::remove(const CheckpointName& name) {
  if (Status status = store_.remove(manifest_key(name)); !status.ok()) return status;
  if (Status status = point_latest(); !status.ok()) return status;
  if (auto aborted = store_.abort_uploads(folder_key(name)); !aborted.ok()) {
    return aborted.status();
  }
  auto listing = store_.list(folder_key(name));
  if (!listing.ok()) return listing.status();
  std::vector<std::string> keys;
  for (const ObjectEntry& object : listing->objects) keys.push_back(object.key);
  return store_.remove_many(keys);
}

}  // namespace headway::checkpoint
