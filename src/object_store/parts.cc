#include "object_store/parts.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/crc32c.h"

namespace headway::object_store {

base::Result<PartPlan> plan_parts(std::uint64_t bytes, std::uint64_t wanted) {
  HW_CHECK(wanted > 0 && wanted <= part_bytes_max);
  if (bytes > object_bytes_max) {
    return base::Status::invalid(
        fmt::format("{} bytes: an object has at most {} (5 TiB)", bytes, object_bytes_max));
  }
  const std::uint64_t least = (bytes + parts_max - 1) / parts_max;
  const std::uint64_t times = std::max<std::uint64_t>(1, (least + wanted - 1) / wanted);
  return PartPlan{bytes, std::min(wanted * times, part_bytes_max)};
}

std::string composite_crc32c(std::span<const std::uint32_t> parts) {
  std::string bytes;
  for (const std::uint32_t crc : parts) {
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(crc >> shift & 0xFF);
  }
  return fmt::format("{}-{}", crc32c_text(base::crc32c(bytes.data(), bytes.size())), parts.size());
}

std::string composite_etag(std::span<const Md5> parts) {
  return fmt::format("{}-{}", hex(md5(std::as_bytes(parts))), parts.size());
}

}  // namespace headway::object_store
