#include "checkpoint/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "checkpoint/chunks.h"
#include "checkpoint/load.h"
#include "checkpoint/look.h"

namespace headway::checkpoint {
namespace {

using base::Code;
using base::FileSystem;
using base::Result;
using base::Status;

void add(VerifyReport& report, Damage damage) {
  if (report.damages.size() < damages_max) {
    report.damages.push_back(std::move(damage));
  } else {
    ++report.more_damages;
  }
}

// Errors of the disk in one chunk are damage of that chunk: the others may be fine.
void read_chunks(ChunkReader& reader, const ManifestFile& entry, const std::string& path,
                 const std::string& name, const Progress& progress, VerifyReport& report) {
  for (std::size_t chunk = 0; chunk < entry.crc32c.size(); ++chunk) {
    const std::uint64_t begin = chunk * entry.chunk_bytes;
    const std::uint64_t end = std::min(entry.bytes, begin + entry.chunk_bytes);
    const auto content = reader.chunk(chunk);
    if (!content.ok()) {
      const std::string text = content.status().code() == Code::corrupt
                                   ? damage_text(path, entry, chunk)
                                   : content.status().message();
      add(report, {name, text, chunk, begin, end});
    }
    report.bytes += end - begin;
    if (progress) progress(end - begin);
  }
}

// All files of one checkpoint. `prefix`: before their names, where it is another one's base. The
// base that it names itself, if it can be told.
Result<std::string> verify_files(FileSystem& files, const std::string& path,
                                 const std::string& prefix, const Progress& progress,
                                 VerifyReport& report) {
  auto manifest = read_manifest(files, path);
  if (!manifest.ok()) {
    // A delta without its base is damaged; anything else that is not there was never one.
    if (prefix.empty() && manifest.status().code() != Code::corrupt) return manifest.status();
    add(report, {prefix + std::string(manifest_name), manifest.status().message(), {}, {}, {}});
    return std::string();
  }
  std::set<const ManifestFile*> bad;
  Status listed =
      find_bad_files(files, path, *manifest, [&](const ManifestFile* file, Status status) {
        bad.insert(file);
        add(report, {prefix + (file != nullptr ? file->name : std::string(manifest_name)),
                     status.message(),
                     {},
                     {},
                     {}});
      });
  if (!listed.ok()) return listed;
  for (const ManifestFile& entry : manifest->files) {
    ++report.files;
    if (bad.contains(&entry)) {
      if (progress) progress(entry.bytes);
      continue;
    }
    auto reader = ChunkReader::open(files, path, entry, {.verify = true, .direct = true});
    if (reader.ok()) {
      read_chunks(**reader, entry, path + "/" + entry.name, prefix + entry.name, progress, report);
    } else {
      add(report, {prefix + entry.name, reader.status().message(), {}, {}, {}});
    }
  }
  if (manifest->base.empty()) return std::string();
  auto base = base_path(path, *manifest);
  if (base.ok()) return base;
  add(report, {prefix + std::string(manifest_name), base.status().message(), {}, {}, {}});
  return std::string();
}

}  // namespace

Result<VerifyReport> verify_checkpoint(FileSystem& files, const std::string& path,
                                       const Progress& progress) {
  VerifyReport report;
  auto base = verify_files(files, path, "", progress, report);
  while (base.ok() && !base->empty()) {
    base = verify_files(files, *base, last_name_of(*base) + "/", progress, report);
  }
  if (!base.ok()) return base.status();
  if (!report.good()) return report;
  auto reader = CheckpointReader::open(files, path, false);
  if (reader.ok()) {
    report.tensors = (*reader)->tensors().size();
  } else {
    add(report, {"", reader.status().message(), {}, {}, {}});
  }
  return report;
}

}  // namespace headway::checkpoint
