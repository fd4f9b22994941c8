#include "checkpoint/look.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checkpoint/anchor.h"
#include "checkpoint/traces.h"

namespace headway::checkpoint {
namespace {

using base::FileSystem;
using base::FolderEntry;
using base::Result;
using base::Status;

constexpr std::uint64_t kLatestBytesMax = 256;

std::uint64_t bytes_there(FileSystem& files, const std::string& path) {
  const auto entries = files.list(path);
  std::uint64_t bytes = 0;
  if (!entries.ok()) return bytes;
  for (const FolderEntry& entry : entries.value()) bytes += entry.bytes;
  return bytes;
}

Look look_at(FileSystem& files, const std::string& folder, const CheckpointName& name,
             bool is_link) {
  Look look;
  look.name = name;
  look.path = folder + "/" + name.text();
  look.is_link = is_link;
  look.unfinished = !is_checkpoint(files, look.path);
  look.anchor = is_anchor(files, look.path);
  auto manifest = read_manifest(files, look.path);
  look.state = manifest.status();
  if (manifest.ok()) {
    look.manifest = std::move(*manifest);
    look.state = check_files(files, look.path, look.manifest);
  }
  look.bytes = look.state.ok() ? total_bytes(look.manifest) : bytes_there(files, look.path);
  if (look.state.ok()) look.state = check_bases(files, look.path, look.manifest);
  return look;
}

// The folder's entries that are checkpoints by their names, the newest first.
Result<std::vector<std::pair<CheckpointName, bool>>> names_in(FileSystem& files,
                                                              const std::string& folder) {
  auto entries = files.list(folder);
  if (!entries.ok()) return entries.status();
  std::map<std::string, bool> links;
  for (const FolderEntry& entry : *entries) links[entry.name] = entry.is_link;
  auto names = CheckpointFolder(files, folder).list();
  if (!names.ok()) return names.status();
  std::vector<std::pair<CheckpointName, bool>> out;
  for (const CheckpointName& name : *names) out.emplace_back(name, links[name.text()]);
  return out;
}

bool is_file(FileSystem& files, const std::string& path) {
  const auto entries = files.list(base::folder_of(path));
  if (!entries.ok()) return false;
  const std::string name = last_name_of(path);
  return std::any_of(entries.value().begin(), entries.value().end(), [&](const FolderEntry& entry) {
    return entry.name == name && !entry.is_folder;
  });
}

Result<std::string> find_latest(FileSystem& files, const std::string& path) {
  auto text = base::read_all(files, path, kLatestBytesMax);
  if (!text.ok()) return text.status();
  while (text->ends_with('\n')) text->pop_back();
  const auto name = CheckpointName::parse(*text);
  if (!name) {
    return Status::corrupt(
        path + ": names no checkpoint; name one yourself, or the folder for the newest");
  }
  return base::folder_of(path) + "/" + name->text();
}

}  // namespace

std::string without_last_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/') && !path.ends_with("://")) path.pop_back();
  return path;
}

std::string last_name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_checkpoint(FileSystem& files, const std::string& path) {
  const auto file = files.open(fmt::format("{}/{}", path, manifest_name));
  return file.ok() || file.status().code() != base::Code::not_found;
}

Result<Manifest> read_manifest(FileSystem& files, const std::string& path) {
  const std::string place = fmt::format("{}/{}", path, manifest_name);
  auto text = base::read_all(files, place, manifest_bytes_max);
  if (!text.ok()) {
    if (text.status().code() != base::Code::not_found) return text.status();
    return Status::not_found(fmt::format("{}: not there; without it this is no checkpoint", place));
  }
  auto manifest = parse_manifest(*text, place);
  if (!manifest.ok()) return manifest.status();
  const auto name = CheckpointName::parse(last_name_of(path));
  if (name && name->step != manifest->step) {
    return Status::corrupt(
        fmt::format("{}: of step {}, its folder says {}", place, manifest->step, name->step));
  }
  return manifest;
}

Status find_bad_files(FileSystem& files, const std::string& path, const Manifest& manifest,
                      const BadFile& bad) {
  auto entries = files.list(path);
  if (!entries.ok()) return entries.status();
  std::map<std::string_view, const FolderEntry*> by_name;
  for (const FolderEntry& entry : *entries) by_name[entry.name] = &entry;
  const auto check = [&](std::string_view name, std::optional<std::uint64_t> bytes) {
    const auto it = by_name.find(name);
    const std::string place = fmt::format("{}/{}", path, name);
    if (it == by_name.end()) return Status::corrupt(place + ": missing");
    const FolderEntry& entry = *it->second;
    if (entry.is_link) {
      return Status::corrupt(place + ": a link; the files of a checkpoint are its own");
    }
    if (entry.is_folder) return Status::corrupt(place + ": a folder, should be a file");
    if (!bytes || entry.bytes == *bytes) return Status();
    return Status::corrupt(
        fmt::format("{}: {} bytes, its manifest says {}", place, entry.bytes, *bytes));
  };
  if (Status status = check(manifest_name, {}); !status.ok()) bad(nullptr, status);
  for (const ManifestFile& file : manifest.files) {
    if (Status status = check(file.name, file.bytes); !status.ok()) bad(&file, status);
  }
  return {};
}

Status check_files(FileSystem& files, const std::string& path, const Manifest& manifest) {
  Status first;
  Status listed = find_bad_files(files, path, manifest, [&](const ManifestFile*, Status status) {
    if (first.ok()) first = std::move(status);
  });
  return listed.ok() ? first : listed;
}

Result<std::string> base_path(const std::string& path, const Manifest& manifest) {
  const auto base = CheckpointName::parse(manifest.base);
  const auto name = CheckpointName::parse(last_name_of(path));
  // Numbers fall, so that a chain ends.
  if (!base || !name || base->sequence >= name->sequence) {
    return Status::corrupt(
        fmt::format("{}: based on {}, which was not there before it", path, manifest.base));
  }
  return base::folder_of(path) + "/" + base->text();
}

Status check_bases(FileSystem& files, std::string path, Manifest manifest) {
  while (!manifest.base.empty()) {
    auto base = base_path(path, manifest);
    if (!base.ok()) return base.status();
    auto read = read_manifest(files, *base);
    Status status = read.status();
    if (status.ok()) status = check_files(files, *base, *read);
    if (!status.ok()) {
      return Status::corrupt(fmt::format("{}: its base: {}", path, status.message()));
    }
    path = std::move(*base);
    manifest = std::move(*read);
  }
  return {};
}

Result<std::uint64_t> bytes_to_read(FileSystem& files, std::string path) {
  std::uint64_t bytes = 0;
  for (;;) {
    auto manifest = read_manifest(files, path);
    if (!manifest.ok()) return manifest.status();
    bytes += total_bytes(*manifest);
    if (manifest->base.empty()) return bytes;
    auto base = base_path(path, *manifest);
    if (!base.ok()) return base.status();
    path = std::move(*base);
  }
}

void read_deeply(Look& look, const DeepCheck& deep) {
  look.state = deep(look.path);
  look.read = true;
}

Result<std::vector<Look>> look_at_all(FileSystem& files, const std::string& folder,
                                      const DeepCheck& deep) {
  auto names = names_in(files, folder);
  if (!names.ok()) return names.status();
  std::vector<Look> looks;
  for (const auto& [name, is_link] : *names) {
    looks.push_back(look_at(files, folder, name, is_link));
    if (deep && looks.back().state.ok()) read_deeply(looks.back(), deep);
  }
  return looks;
}

Result<std::string> find_checkpoint(FileSystem& files, const std::string& given,
                                    std::vector<std::string>& passed, const std::string& before) {
  const std::string path = without_last_slash(given);
  if (last_name_of(path) == latest_name) return find_latest(files, path);
  if (is_file(files, path)) {
    return Status::invalid(path +
                           ": a file, and not a checkpoint; name the folder of one, or the folder "
                           "that it is in");
  }
  if (is_checkpoint(files, path)) return path;
  auto names = names_in(files, path);
  if (!names.ok()) return names.status();
  bool tried = !before.empty();
  for (const auto& [name, is_link] : *names) {
    if (tried) {
      tried = path + "/" + name.text() != before;
      continue;
    }
    const Look look = look_at(files, path, name, is_link);
    if (look.state.ok()) return look.path;
    if (!look.unfinished) passed.push_back(look.state.message());
  }
  if (!passed.empty()) {
    return Status::corrupt(fmt::format("{}: none of its {} checkpoints is good; the newest: {}",
                                       path, passed.size(), passed.front()));
  }
  const auto traces = find_traces(files, path);
  if (traces.ok() && !traces.value().empty()) {
    return Status::corrupt(
        fmt::format("{}: no good checkpoint is in it: {}", path, traces.value().front().text));
  }
  return Status::not_found(fmt::format(
      "{}: neither a checkpoint (it has no {}) nor a folder of checkpoints", path, manifest_name));
}

}  // namespace headway::checkpoint
