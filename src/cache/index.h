// What an archive holds: blocks, contents, entries. Contents lie one behind the other in what the
// blocks unpack to; each is there once, however many entries name it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "cache/format.h"
#include "cache/kind.h"

namespace headway::cache {

struct Entry {
  std::string path;  // in the cache directory
  std::string key;   // torch's own where the path does not tell it, else empty (mega.h)
  Kind kind = Kind::source;
  bool executable = false;
  bool relocated = false;  // relocate.h
  std::int64_t time_ns = 0;
  std::uint32_t content = 0;
};

// Blocks that begin and end together with a content: what can be unpacked by itself.
struct Segment {
  std::uint32_t first_block = 0, blocks = 0;
  std::uint32_t first_content = 0, contents = 0;
  std::uint64_t stored_begin = 0;  // in the file's blocks
  std::uint64_t stored_bytes = 0;
  std::uint64_t raw_bytes = 0;
};

struct Index {
  std::vector<BlockRecord> blocks;
  std::vector<ContentRecord> contents;
  std::vector<Entry> entries;

  [[nodiscard]] std::uint64_t stored_bytes() const;  // of all blocks
  [[nodiscard]] std::uint64_t raw_bytes() const;     // of all contents
  // Of all entries, a content that is named twice counted twice.
  [[nodiscard]] std::uint64_t entry_bytes() const;
};

[[nodiscard]] std::string to_bytes(const Index& index);
// Every number and every path is checked; errors name `path`.
base::Result<Index> parse_index(std::string_view bytes, const std::string& path);

// In the order of the file. Contents of no bytes at an edge belong to the segment before it.
[[nodiscard]] std::vector<Segment> segments_of(const Index& index);

// Of what the entries say, whatever the blocks, times and the order of entries are: two archives
// with the same can stand for each other.
[[nodiscard]] base::Sha256 content_identity(const Index& index);

}  // namespace headway::cache
