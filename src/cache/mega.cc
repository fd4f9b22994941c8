#include "cache/mega.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cache/archive_writer.h"
#include "cache/pgo.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

constexpr std::string_view kPgoBegin = "dynamo/code_state_";
constexpr std::string_view kPgoEnd = ".pkl";

std::string folder_name(const std::string& path, int from_last) {
  std::size_t end = path.size();
  for (int i = 0; i < from_last; ++i) end = path.rfind('/', end - 1);
  const std::size_t begin = path.rfind('/', end - 1);
  return path.substr(begin + 1, end - begin - 1);
}

std::optional<std::string> path_of(const std::string& type, const MegaArtifact& artifact) {
  const std::string& key = artifact.key;
  const auto name = [&] { return content_name(base::sha256(base::bytes_of(artifact.content))); };
  if (type == "inductor" && key.size() >= 3) {
    return fmt::format("fxgraph/{}/{}/{}", key.substr(1, 2), key, name());
  }
  if (type == "aot_autograd") return fmt::format("aotautograd/{}/{}", key, name());
  if (type == "autotune") return key;
  if (type == "pgo") return fmt::format("{}{}{}", kPgoBegin, pgo_name(key), kPgoEnd);
  if (type == "precompile") return fmt::format("dynamo/{}/entry", key);
  return std::nullopt;
}

struct Placed {
  Entry entry;
  std::string_view content;
  base::Sha256 sha256{};
};

// Each path once: the last artifact of a path stays, where the first one was.
std::vector<Placed> place_all(const std::vector<MegaChunk>& chunks, const Binding& binding,
                              Imported& imported) {
  std::vector<Placed> placed;
  std::map<std::string, std::size_t> places;
  for (const MegaChunk& chunk : chunks) {
    for (const MegaArtifact& artifact : chunk.artifacts) {
      const auto place = mega_place(chunk.type, artifact);
      if (!place || artifact.content.size() > content_bytes_max) {
        ++imported.left_out;
        continue;
      }
      const auto [known, first] = places.try_emplace(place->path, placed.size());
      if (first) placed.emplace_back();
      imported.repeated += first ? 0 : 1;
      Placed& one = placed[known->second];
      one.entry = {
          .path = place->path, .key = {}, .kind = place->kind, .time_ns = binding.created_ns};
      if (mega_key(one.entry) != artifact.key) one.entry.key = artifact.key;
      one.content = artifact.content;
      one.sha256 = base::sha256(base::bytes_of(artifact.content));
    }
  }
  return placed;
}

Status write_contents(const std::vector<Placed>& placed, ArchiveWriter& writer) {
  std::vector<ContentRecord> contents;
  std::vector<std::byte> raw;
  std::map<base::Sha256, bool> waiting;
  const auto flush = [&]() -> Status {
    if (contents.empty()) return {};
    Status status = writer.append(pack_segment(std::move(contents), raw));
    contents.clear();
    raw.clear();
    waiting.clear();
    return status;
  };
  for (const Placed& one : placed) {
    if (writer.has(one.sha256) || !waiting.emplace(one.sha256, true).second) continue;
    if (!raw.empty() && raw.size() + one.content.size() > block_raw_bytes) {
      if (Status status = flush(); !status.ok()) return status;
      waiting.emplace(one.sha256, true);
    }
    const auto bytes = base::bytes_of(one.content);
    raw.insert(raw.end(), bytes.begin(), bytes.end());
    contents.push_back({one.sha256, one.content.size()});
  }
  return flush();
}

}  // namespace

std::optional<MegaPlace> mega_place(const std::string& type, const MegaArtifact& artifact) {
  auto path = path_of(type, artifact);
  if (!path || artifact.key.size() > key_bytes_max) return std::nullopt;
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (std::ranges::any_of(artifact.key, is_control)) return std::nullopt;
  const auto kind = kind_of_path(*path);
  // A key of one type must not lead to a file of another.
  if (!kind || mega_type(*kind) != type) return std::nullopt;
  return MegaPlace{std::move(*path), *kind};
}

std::string_view mega_type(Kind kind) {
  switch (kind) {
    case Kind::inductor:
      return "inductor";
    case Kind::aot_autograd:
      return "aot_autograd";
    case Kind::autotune:
      return "autotune";
    case Kind::pgo:
      return "pgo";
    case Kind::precompile:
      return "precompile";
    case Kind::source:
    case Kind::library:
    case Kind::triton:
    case Kind::selection:
      return "";
  }
  return "";
}

std::string mega_key(const Entry& entry) {
  if (!entry.key.empty()) return entry.key;
  switch (entry.kind) {
    case Kind::inductor:
    case Kind::aot_autograd:
    case Kind::precompile:
      return folder_name(entry.path, 1);
    case Kind::pgo:
      return entry.path.substr(kPgoBegin.size(),
                               entry.path.size() - kPgoBegin.size() - kPgoEnd.size());
    default:
      return entry.path;
  }
}

Result<Imported> import_mega(std::string_view blob, const std::string& blob_path,
                             const Binding& binding, const SigningKey* key, base::FileSystem& files,
                             const std::string& path) {
  auto chunks = parse_blob(blob, blob_path);
  if (!chunks.ok()) return chunks.status();
  Imported imported;
  const std::vector<Placed> placed = place_all(*chunks, binding, imported);
  if (placed.empty()) {
    return Status::invalid(blob_path + ": nothing in it belongs into a cache directory");
  }
  auto writer = ArchiveWriter::create(files, path);
  if (!writer.ok()) return writer.status();
  if (Status status = write_contents(placed, **writer); !status.ok()) return status;
  for (const Placed& one : placed) {
    Status status = (*writer)->add_entry(one.entry, one.sha256);
    if (!status.ok()) return status;
  }
  if (Status status = (*writer)->finish(binding, key); !status.ok()) return status;
  imported.entries = placed.size();
  imported.file_bytes = (*writer)->file_bytes();
  return imported;
}

Result<Exported> export_mega(const Archive& archive) {
  const Index& index = archive.index();
  Exported exported;
  std::vector<MegaChunk> chunks;
  std::map<std::uint32_t, std::vector<std::byte>> segments;
  std::uint64_t bytes = 0;
  for (const Entry& entry : index.entries) {
    const std::string_view type = mega_type(entry.kind);
    if (type.empty()) {
      ++exported.left_out;
      continue;
    }
    bytes += index.contents[entry.content].bytes;
    if (bytes > blob_bytes_max) {
      return Status::invalid(fmt::format("{}: more than {} GiB of artifacts: too much for one blob",
                                         archive.path(), blob_bytes_max >> 30));
    }
    const std::uint32_t segment = archive.segment_of(entry.content);
    if (!segments.contains(segment)) {
      auto raw = archive.read_raw(archive.segments()[segment]);
      if (!raw.ok()) return raw.status();
      segments.emplace(segment, std::move(*raw));
    }
    std::uint64_t begin = 0;
    for (std::uint32_t i = archive.segments()[segment].first_content; i < entry.content; ++i) {
      begin += index.contents[i].bytes;
    }
    auto chunk = std::ranges::find(chunks, type, &MegaChunk::type);
    if (chunk == chunks.end()) {
      chunk = chunks.insert(chunks.end(), {.type = std::string(type), .artifacts = {}});
    }
    const char* data = reinterpret_cast<const char*>(segments.at(segment).data());
    chunk->artifacts.push_back(
        {mega_key(entry), std::string_view(data + begin, index.contents[entry.content].bytes)});
    ++exported.artifacts;
  }
  exported.blob = to_blob(chunks);
  return exported;
}

}  // namespace headway::cache
