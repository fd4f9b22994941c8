#include "checkpoint/copy.h"

#include <fmt/format.h>

#include <optional>

#include "checkpoint/chunks.h"
#include "checkpoint/look.h"

namespace headway::checkpoint {
namespace {

using base::FileSystem;
using base::Result;
using base::Status;

// By everything that the manifests say, checksums included.
bool is_same(const Manifest& a, const Manifest& b) {
  if (a.step != b.step || a.base != b.base || a.data != b.data || a.world_size != b.world_size ||
      a.job != b.job || a.attempt != b.attempt || a.time_ns != b.time_ns ||
      a.files.size() != b.files.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.files.size(); ++i) {
    const ManifestFile &left = a.files[i], &right = b.files[i];
    if (left.name != right.name || left.bytes != right.bytes || left.rank != right.rank ||
        left.chunk_bytes != right.chunk_bytes || left.crc32c != right.crc32c) {
      return false;
    }
  }
  return true;
}

// Whoever asks for a copy wants one that is good, not one that was.
Result<std::optional<CheckpointName>> find_good_copy(FileSystem& files, const std::string& folder,
                                                     const Manifest& manifest, bool newest,
                                                     const Progress& progress) {
  auto looks = look_at_all(files, folder);
  if (!looks.ok()) {
    if (looks.status().code() != base::Code::not_found) return looks.status();
    return std::optional<CheckpointName>();
  }
  for (const Look& look : *looks) {
    if (newest && look.name.text() != looks->front().name.text()) break;
    if (!look.state.ok() || !is_same(look.manifest, manifest)) continue;
    auto report = verify_checkpoint(files, look.path, progress);
    if (!report.ok()) return report.status();
    if (report->good()) return std::optional(look.name);
  }
  return std::optional<CheckpointName>();
}

}  // namespace

Status copy_file(FileSystem& files, const std::string& from, const ManifestFile& entry,
                 Draft& draft, std::uint32_t rank, const Progress& progress) {
  auto reader = ChunkReader::open(files, from, entry, {.verify = true, .direct = true});
  if (!reader.ok()) return reader.status();
  auto file = draft.add(entry.name, rank, {.bytes = entry.bytes, .direct = true});
  if (!file.ok()) return file.status();
  for (std::size_t chunk = 0; chunk < entry.crc32c.size(); ++chunk) {
    const auto content = (*reader)->chunk(chunk);
    if (!content.ok()) return content.status();
    if (Status status = (*file)->write(content.value()); !status.ok()) return status;
    if (progress) progress(content.value().size());
  }
  return (*file)->finish();
}

Result<Copied> copy_checkpoint(FileSystem& files, const std::string& from, FileSystem& to_files,
                               const std::string& folder, bool newest, const Progress& progress) {
  auto manifest = read_manifest(files, from);
  if (!manifest.ok()) return manifest.status();
  if (Status status = check_files(files, from, *manifest); !status.ok()) return status;
  Copied copied;
  copied.was_there = true;
  if (!manifest->base.empty()) {
    auto path = base_path(from, *manifest);
    if (!path.ok()) return path.status();
    auto base = copy_checkpoint(files, *path, to_files, folder, false, progress);
    if (!base.ok()) return base.status();
    copied = *base;
    manifest->base = base->name.text();
  }
  copied.bytes += total_bytes(*manifest);
  auto there = find_good_copy(to_files, folder, *manifest, newest, progress);
  if (!there.ok()) return there.status();
  if (*there) {
    copied.name = **there;
    return copied;
  }
  copied.was_there = false;
  CheckpointFolder to(to_files, folder);
  auto draft = Draft::begin(to, *manifest);
  if (!draft.ok()) return draft.status();
  for (const ManifestFile& entry : manifest->files) {
    Status status = copy_file(files, from, entry, **draft, entry.rank, progress);
    if (!status.ok()) return status;
  }
  auto name = (*draft)->commit();
  if (!name.ok()) return name.status();
  copied.name = *name;
  return copied;
}

}  // namespace headway::checkpoint
