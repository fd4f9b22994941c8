// Any bytes as an index, and as a whole archive whose seal fits: what is accepted says the same
// when it is written again, leads nowhere but into a cache directory, and its parts add up.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/file_system.h"
#include "cache/block.h"
#include "cache/front.h"

namespace {

using namespace headway::cache;

void check_index(const Index& index) {
  for (const Entry& entry : index.entries) {
    HW_CHECK(!entry.path.empty() && entry.path.front() != '/' &&
             entry.path.size() <= path_bytes_max);
    HW_CHECK(("/" + entry.path + "/").find("/../") == std::string::npos);
    HW_CHECK(("/" + entry.path + "/").find("/./") == std::string::npos);
    HW_CHECK(entry.path.find("//") == std::string::npos);
    HW_CHECK(entry.content < index.contents.size());
  }
  std::uint32_t blocks = 0, contents = 0;
  std::uint64_t raw = 0;
  for (const Segment& segment : segments_of(index)) {
    HW_CHECK(segment.first_block == blocks && segment.first_content == contents);
    blocks += segment.blocks;
    contents += segment.contents;
    raw += segment.raw_bytes;
  }
  HW_CHECK(blocks == index.blocks.size() && contents == index.contents.size());
  HW_CHECK(raw == index.raw_bytes());
}

void check_index_bytes(std::string_view bytes) {
  const auto index = parse_index(bytes, "x");
  if (!index.ok()) {
    HW_CHECK(index.status().message().find('\n') == std::string::npos);
    return;
  }
  check_index(index.value());
  HW_CHECK(to_bytes(index.value()) == bytes);
}

// With the digest that belongs there.
void check_archive(std::string bytes) {
  const auto layout = parse_head(bytes, bytes.size(), "x");
  if (!layout.ok()) return;
  std::string tail = bytes.substr(layout.value().binding_begin);
  const std::size_t seal_at = tail.size() - sizeof(SealRecord);
  headway::base::Sha256Stream stream;
  stream.add(headway::base::bytes_of(std::string_view(bytes).substr(0, sizeof(HeadRecord))));
  stream.add(headway::base::bytes_of(std::string_view(tail).substr(0, seal_at + 32)));
  const auto digest = stream.finish();
  std::memcpy(tail.data() + seal_at + 32, digest.data(), digest.size());
  const auto front = parse_front(layout.value(), tail, "x");
  if (!front.ok()) return;
  check_index(front.value().index);
  HW_CHECK(!check_trust(front.value(), {}, "x").ok());
  const auto again = parse_binding(to_text(front.value().binding), "x");
  HW_CHECK(again.ok() && difference(again.value(), front.value().binding).empty());
  // Blocks whose digest is damaged are refused; the others unpack or are refused.
  std::uint64_t at = sizeof(HeadRecord);
  for (BlockRecord block : front.value().index.blocks) {
    const auto stored =
        headway::base::bytes_of(std::string_view(bytes).substr(at, block.stored_bytes));
    at += block.stored_bytes;
    if (block.raw_bytes > (1U << 20)) continue;
    std::vector<std::byte> raw(block.raw_bytes);
    block.sha256 = headway::base::sha256(stored);
    (void)unpack_block(block, stored, raw, "x");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_index_bytes(bytes);
  check_archive(std::string(bytes));
  return 0;
}
