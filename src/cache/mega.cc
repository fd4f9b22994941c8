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

// The blob with a digest in each content's place.
std::string order_of(const std::vector<MegaChunk>& chunks,
                     const std::vector<base::Sha256>& digests) {
  std::vector<MegaChunk> order = chunks;
  std::size_t next = 0;
  for (MegaChunk& chunk : order) {
    for (MegaArtifact& artifact : chunk.artifacts) {
      const base::Sha256& digest = digests[next++];
      artifact.content = {reinterpret_cast<const char*>(digest.data()), digest.size()};
    }
  }
  return to_blob(order);
}

struct Placing {
  std::vector<Placed> placed;  // each path once
  std::string order;           // a content of its own
};

// The last artifact of a path is its file, where the first one was.
Placing place_all(const std::vector<MegaChunk>& chunks, const base::Sha256& blob,
                  const Binding& binding, Imported& imported) {
  Placing all;
  std::map<std::string, std::size_t> places;
  std::map<base::Sha256, std::string_view> contents;
  std::vector<base::Sha256> digests;
  const auto put = [&](const std::string& path, Kind kind, std::string_view content,
                       const base::Sha256& sha256) -> Entry& {
    const auto [known, first] = places.try_emplace(path, all.placed.size());
    if (first) all.placed.emplace_back();
    imported.repeated += first ? 0 : 1;
    all.placed[known->second] = {
        {.path = path, .key = {}, .kind = kind, .time_ns = binding.created_ns}, content, sha256};
    return all.placed[known->second].entry;
  };
  for (const MegaChunk& chunk : chunks) {
    for (const MegaArtifact& artifact : chunk.artifacts) {
      digests.push_back(base::sha256(base::bytes_of(artifact.content)));
      contents.emplace(digests.back(), artifact.content);
      const auto place = mega_place(chunk.type, artifact);
      imported.left_out += place ? 0 : 1;
      if (!place) continue;
      Entry& entry = put(place->path, place->kind, artifact.content, digests.back());
      if (mega_key(entry) != artifact.key) entry.key = artifact.key;
    }
  }
  imported.entries = all.placed.size();
  for (const Placed& one : all.placed) contents.erase(one.sha256);
  for (const auto& [sha256, content] : contents) {
    (void)put(fmt::format("mega/{}/{}", base::hex(blob), base::hex(sha256)), Kind::blob, content,
              sha256);
  }
  all.order = order_of(chunks, digests);
  (void)put(order_path(blob), Kind::blob, all.order, base::sha256(base::bytes_of(all.order)));
  return all;
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

std::string order_path(const base::Sha256& blob) {
  return fmt::format("mega/{}{}", base::hex(blob), order_suffix);
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
    case Kind::blob:
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
  for (const MegaChunk& chunk : *chunks) {
    for (const MegaArtifact& artifact : chunk.artifacts) {
      if (artifact.content.size() <= content_bytes_max) continue;
      return Status::invalid(
          fmt::format("{}: an artifact of more than {} GiB: too much for an "
                      "archive",
                      blob_path, content_bytes_max >> 30));
    }
  }
  Imported imported;
  const Placing all = place_all(*chunks, base::sha256(base::bytes_of(blob)), binding, imported);
  const std::vector<Placed>& placed = all.placed;
  if (imported.entries == 0) {
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
  imported.file_bytes = (*writer)->file_bytes();
  return imported;
}

}  // namespace headway::cache
