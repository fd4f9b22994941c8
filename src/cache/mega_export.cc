// The way back: an archive as a blob.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cache/mega.h"

namespace headway::cache {

using base::Result;
using base::Status;

namespace {

// Contents of an archive, each segment read once.
class Contents {
 public:
  explicit Contents(const Archive& archive) : archive_(archive) {
    const auto& contents = archive.index().contents;
    for (std::uint32_t i = 0; i < contents.size(); ++i) numbers_.emplace(contents[i].sha256, i);
  }

  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view digest) const {
    base::Sha256 sha256{};
    if (digest.size() != sha256.size()) return std::nullopt;
    std::ranges::copy(digest, sha256.begin());
    const auto found = numbers_.find(sha256);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

  Result<std::string_view> read(std::uint32_t content) {
    const std::uint32_t segment = archive_.segment_of(content);
    bytes_ += archive_.index().contents[content].bytes;
    if (bytes_ > blob_bytes_max) {
      return Status::invalid(fmt::format("{}: more than {} GiB of artifacts: too much for one blob",
                                         archive_.path(), blob_bytes_max >> 30));
    }
    if (!segments_.contains(segment)) {
      auto raw = archive_.read_raw(archive_.segments()[segment]);
      if (!raw.ok()) return raw.status();
      segments_.emplace(segment, std::move(*raw));
    }
    const auto bytes =
        archive_.content_in(archive_.segments()[segment], segments_.at(segment), content);
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

 private:
  const Archive& archive_;
  std::map<base::Sha256, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::vector<std::byte>> segments_;
  std::uint64_t bytes_ = 0;
};

void count(const Index& index, Exported& exported) {
  for (const Entry& entry : index.entries) {
    const bool of_blob = entry.kind == Kind::blob || !mega_type(entry.kind).empty();
    exported.left_out += of_blob ? 0 : 1;
  }
}

// The entry of the only blob's order; none: there are several, or there is none.
const Entry* order_entry(const Index& index) {
  const Entry* found = nullptr;
  for (const Entry& entry : index.entries) {
    if (entry.kind != Kind::blob || !entry.path.ends_with(order_suffix)) continue;
    if (found != nullptr) return nullptr;
    found = &entry;
  }
  return found;
}

// As it was; none: what is in the archive is not that blob and nothing else.
Result<std::optional<Exported>> export_exactly(const Archive& archive) {
  const Index& index = archive.index();
  const Entry* order = order_entry(index);
  if (order == nullptr) return std::optional<Exported>();
  Contents contents(archive);
  auto text = contents.read(order->content);
  if (!text.ok()) return text.status();
  auto chunks = parse_blob(*text, archive.path());
  if (!chunks.ok()) return chunks.status();
  Exported exported;
  std::set<std::uint32_t> used{order->content};
  std::set<std::string_view> types;
  for (MegaChunk& chunk : *chunks) {
    exported.repeated_types += types.insert(chunk.type).second ? 0 : 1;
    for (MegaArtifact& artifact : chunk.artifacts) {
      const auto content = contents.find(artifact.content);
      if (!content) return std::optional<Exported>();
      auto bytes = contents.read(*content);
      if (!bytes.ok()) return bytes.status();
      used.insert(*content);
      artifact.content = *bytes;
      ++exported.artifacts;
    }
  }
  for (const Entry& entry : index.entries) {
    const bool of_blob = entry.kind == Kind::blob || !mega_type(entry.kind).empty();
    if (of_blob && !used.contains(entry.content)) return std::optional<Exported>();
  }
  exported.blob = to_blob(*chunks);
  exported.exact = true;
  const base::Sha256 sha256 = base::sha256(base::bytes_of(exported.blob));
  if (order_path(sha256) != order->path) {
    return Status::corrupt(archive.path() + ": its order of a blob gives another blob");
  }
  count(index, exported);
  return std::optional(std::move(exported));
}

}  // namespace

Result<Exported> export_mega(const Archive& archive, bool unite) {
  if (!unite) {
    auto exact = export_exactly(archive);
    if (!exact.ok()) return exact.status();
    if (*exact) return std::move(**exact);
  }
  const Index& index = archive.index();
  Exported exported;
  std::vector<MegaChunk> chunks;
  Contents contents(archive);
  for (const Entry& entry : index.entries) {
    const std::string_view type = mega_type(entry.kind);
    if (type.empty()) continue;
    auto content = contents.read(entry.content);
    if (!content.ok()) return content.status();
    auto chunk = std::ranges::find(chunks, type, &MegaChunk::type);
    if (chunk == chunks.end()) {
      chunk = chunks.insert(chunks.end(), {.type = std::string(type), .artifacts = {}});
    }
    chunk->artifacts.push_back({mega_key(entry), *content});
    ++exported.artifacts;
  }
  exported.blob = to_blob(chunks);
  count(index, exported);
  return exported;
}

}  // namespace headway::cache
