// Any bytes as the front of a safetensors file: what is accepted lies inside the file, without
// holes or overlaps, and can be planned again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "checkpoint/safetensors.h"

namespace {

using namespace headway::checkpoint;

void check(std::string_view head, std::uint64_t file_bytes) {
  const auto header = parse_safetensors(head, file_bytes, "x");
  if (!header.ok()) {
    HW_CHECK(header.status().message().starts_with("x: "));
    return;
  }
  std::uint64_t at = header.value().data_begin;
  std::vector<Piece> pieces;
  for (const StoredPiece& stored : header.value().pieces) {
    HW_CHECK(stored.begin == at && stored.end >= stored.begin && stored.end <= file_bytes);
    at = stored.end;
    pieces.push_back(stored.piece);
  }
  HW_CHECK(at == file_bytes);
  const auto plan = plan_safetensors(pieces, 64);
  HW_CHECK(plan.ok());
  const auto again = parse_safetensors(plan.value().head, plan.value().header.file_bytes, "y");
  HW_CHECK(again.ok() && again.value().pieces.size() == pieces.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size >= 8) {  // the length in front is the input's own, behind it its data
    const auto head = safetensors_head_bytes(text.substr(0, 8), size, "x");
    if (head.ok()) check(text.substr(0, head.value()), size);
  }
  // With a length that fits, and as many data bytes as the first byte says.
  std::string head(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) head[i] = static_cast<char>(size >> (8 * i) & 0xff);
  head += text;
  for (const std::uint64_t bytes : {0, 4, 16}) check(head, head.size() + bytes);
  return 0;
}
