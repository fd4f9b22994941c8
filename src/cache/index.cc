#include "cache/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/check.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

template <typename T>
void put(std::string& bytes, const T& record) {
  bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
}

// Takes records off the front; the caller has compared the length.
template <typename T>
T take(std::string_view& bytes) {
  HW_CHECK(bytes.size() >= sizeof(T));
  T record;
  std::memcpy(&record, bytes.data(), sizeof record);
  bytes.remove_prefix(sizeof record);
  return record;
}

std::string_view block_fault(const BlockRecord& block) {
  if (block.raw_bytes == 0 || block.raw_bytes > block_raw_bytes_max) return "a block's size";
  if (block.stored_bytes == 0 || block.stored_bytes > block.raw_bytes) return "a block's length";
  if (block.raw_bytes > block.stored_bytes * block_ratio_max) return "a block that grows too much";
  return "";
}

std::string_view take_blocks(std::string_view& bytes, std::uint32_t count, Index& index) {
  index.blocks.reserve(count);
  std::uint64_t stored = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto block = take<BlockRecord>(bytes);
    if (const auto fault = block_fault(block); !fault.empty()) return fault;
    stored += block.stored_bytes;
    if (stored > archive_bytes_max) return "the size of its blocks";
    index.blocks.push_back(block);
  }
  return "";
}

struct DigestHash {
  std::size_t operator()(const base::Sha256& digest) const {
    std::size_t value = 0;
    std::memcpy(&value, digest.data(), sizeof value);
    return value;
  }
};

std::string_view take_contents(std::string_view& bytes, std::uint32_t count, Index& index) {
  index.contents.reserve(count);
  std::unordered_set<base::Sha256, DigestHash> seen;
  std::uint64_t raw = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto content = take<ContentRecord>(bytes);
    if (content.bytes > content_bytes_max) return "a content's size";
    raw += content.bytes;
    if (raw > raw_bytes_max) return "the size of its contents";
    if (!seen.insert(content.sha256).second) return "a content that is there twice";
    index.contents.push_back(content);
  }
  for (const BlockRecord& block : index.blocks) {
    if (raw < block.raw_bytes) return "blocks that hold more than its contents";
    raw -= block.raw_bytes;
  }
  return raw == 0 ? "" : "contents that no block holds";
}

std::string_view entry_fault(const Entry& entry, const Index& index) {
  if (entry.path.size() + entry.key.size() > path_bytes_max + key_bytes_max) return "a name";
  if (kind_of_path(entry.path) != entry.kind) return "an entry's path";
  if (entry.key.size() > key_bytes_max) return "an entry's key";
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (std::ranges::any_of(entry.key, is_control)) return "an entry's key";
  return entry.content < index.contents.size() ? "" : "an entry of no content";
}

std::string_view take_entries(std::string_view& bytes, std::uint32_t count, std::string_view text,
                              Index& index) {
  index.entries.reserve(count);
  std::vector<bool> named(index.contents.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto record = take<EntryRecord>(bytes);
    const auto kind = kind_of_number(record.kind);
    const std::size_t text_bytes = std::size_t{record.path_bytes} + record.key_bytes;
    if (!kind || (record.flags & ~(entry_executable | entry_relocated)) != 0) return "a kind";
    if (record.zero != decltype(record.zero){}) return "bytes that must be zero";
    if (text_bytes > text.size()) return "a name";
    Entry entry{.path = std::string(text.substr(0, record.path_bytes)),
                .key = std::string(text.substr(record.path_bytes, record.key_bytes)),
                .kind = *kind,
                .executable = (record.flags & entry_executable) != 0,
                .relocated = (record.flags & entry_relocated) != 0,
                .time_ns = record.time_ns,
                .content = record.content};
    text.remove_prefix(text_bytes);
    if (const auto fault = entry_fault(entry, index); !fault.empty()) return fault;
    named[entry.content] = true;
    index.entries.push_back(std::move(entry));
  }
  if (!text.empty()) return "names of no entry";
  return std::ranges::find(named, false) == named.end() ? "" : "a content of no entry";
}

std::string_view duplicate_fault(const Index& index) {
  std::vector<std::string_view> paths;
  for (const Entry& entry : index.entries) paths.emplace_back(entry.path);
  std::ranges::sort(paths);
  return std::ranges::adjacent_find(paths) == paths.end() ? "" : "two entries of one path";
}

}  // namespace

std::uint64_t Index::stored_bytes() const {
  std::uint64_t bytes = 0;
  for (const BlockRecord& block : blocks) bytes += block.stored_bytes;
  return bytes;
}

std::uint64_t Index::raw_bytes() const {
  std::uint64_t bytes = 0;
  for (const ContentRecord& content : contents) bytes += content.bytes;
  return bytes;
}

std::uint64_t Index::entry_bytes() const {
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += contents[entry.content].bytes;
  return bytes;
}

std::string to_bytes(const Index& index) {
  std::string text;
  std::string bytes(sizeof(IndexHeadRecord), '\0');
  for (const BlockRecord& block : index.blocks) put(bytes, block);
  for (const ContentRecord& content : index.contents) put(bytes, content);
  for (const Entry& entry : index.entries) {
    HW_CHECK(entry.path.size() <= path_bytes_max && entry.key.size() <= key_bytes_max);
    const int flags =
        (entry.executable ? entry_executable : 0) | (entry.relocated ? entry_relocated : 0);
    put(bytes, EntryRecord{.time_ns = entry.time_ns,
                           .content = entry.content,
                           .path_bytes = static_cast<std::uint16_t>(entry.path.size()),
                           .key_bytes = static_cast<std::uint16_t>(entry.key.size()),
                           .kind = static_cast<std::uint8_t>(entry.kind),
                           .flags = static_cast<std::uint8_t>(flags),
                           .zero = {}});
    text += entry.path;
    text += entry.key;
  }
  const IndexHeadRecord head{.blocks = static_cast<std::uint32_t>(index.blocks.size()),
                             .contents = static_cast<std::uint32_t>(index.contents.size()),
                             .entries = static_cast<std::uint32_t>(index.entries.size()),
                             .text_bytes = static_cast<std::uint32_t>(text.size())};
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + text;
}

Result<Index> parse_index(std::string_view bytes, const std::string& path) {
  const auto bad = [&](std::string_view what) {
    return Status::corrupt(fmt::format("{}: its index is damaged or hostile: {}", path, what));
  };
  if (bytes.size() < sizeof(IndexHeadRecord)) return bad("it is cut off");
  const auto head = take<IndexHeadRecord>(bytes);
  if (head.entries > entries_max || head.contents > head.entries || head.blocks > blocks_max) {
    return bad("more entries than an archive may have");
  }
  const std::uint64_t expected = std::uint64_t{head.blocks} * sizeof(BlockRecord) +
                                 std::uint64_t{head.contents} * sizeof(ContentRecord) +
                                 std::uint64_t{head.entries} * sizeof(EntryRecord) +
                                 head.text_bytes;
  if (bytes.size() != expected) return bad("its length");
  Index index;
  std::string_view fault = take_blocks(bytes, head.blocks, index);
  if (fault.empty()) fault = take_contents(bytes, head.contents, index);
  if (fault.empty()) {
    const std::string_view text = bytes.substr(bytes.size() - head.text_bytes);
    fault = take_entries(bytes, head.entries, text, index);
  }
  if (fault.empty()) fault = duplicate_fault(index);
  if (!fault.empty()) return bad(fault);
  return index;
}

std::vector<Segment> segments_of(const Index& index) {
  std::vector<Segment> segments;
  Segment now;
  std::uint64_t contents_end = 0;  // of the contents so far
  std::uint64_t blocks_end = 0;    // of the blocks so far
  std::uint32_t content = 0;
  for (std::uint32_t block = 0; block < index.blocks.size(); ++block) {
    now.blocks += 1;
    now.stored_bytes += index.blocks[block].stored_bytes;
    now.raw_bytes += index.blocks[block].raw_bytes;
    blocks_end += index.blocks[block].raw_bytes;
    while (content < index.contents.size() &&
           contents_end + index.contents[content].bytes <= blocks_end) {
      contents_end += index.contents[content++].bytes;
    }
    if (contents_end != blocks_end) continue;  // a content goes on in the next block
    now.contents = content - now.first_content;
    segments.push_back(now);
    now = {.first_block = block + 1,
           .first_content = content,
           .stored_begin = now.stored_begin + now.stored_bytes};
  }
  if (content < index.contents.size()) {  // no block at all, and one content of no bytes
    HW_CHECK(index.blocks.empty());
    now.contents = static_cast<std::uint32_t>(index.contents.size());
    segments.push_back(now);
  }
  return segments;
}

base::Sha256 content_identity(const Index& index) {
  std::vector<const Entry*> order;
  for (const Entry& entry : index.entries) order.push_back(&entry);
  std::ranges::sort(order, {}, [](const Entry* entry) { return std::string_view(entry->path); });
  base::Sha256Stream stream;
  const auto add = [&](std::string_view text) {
    stream.add(std::as_bytes(std::span(text.data(), text.size())));
  };
  add("headway cache content 1\n");
  for (const Entry* entry : order) {
    add(fmt::format("{} {} {} {} {}\n", base::hex(index.contents[entry->content].sha256),
                    static_cast<int>(entry->kind), entry->executable ? 1 : 0,
                    entry->relocated ? 1 : 0, entry->path));
  }
  return stream.finish();
}

}  // namespace headway::cache
