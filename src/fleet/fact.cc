#include "fleet/fact.h"

#include <algorithm>

namespace headway::fleet {
namespace {

constexpr std::array<std::string_view, kDimensions> kDimensionNames = {
    "family", "team", "cluster", "hardware", "size", "torch", "priority", "revision", "config"};

}  // namespace

std::string_view dimension_name(Dimension dimension) {
  return kDimensionNames[static_cast<std::size_t>(dimension)];
}

std::optional<Dimension> dimension_of(std::string_view name) {
  const auto found = std::ranges::find(kDimensionNames, name);
  if (found == kDimensionNames.end()) return std::nullopt;
  return static_cast<Dimension>(found - kDimensionNames.begin());
}

std::string_view size_class(std::uint32_t devices) {
  if (devices <= 1) return "1";
  if (devices < 8) return "2-7";
  if (devices < 64) return "8-63";
  return devices < 512 ? "64-511" : "512+";
}

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::infra:
      return "infra";
    case Origin::preemption:
      return "preemption";
    case Origin::user:
      return "user";
    case Origin::unknown:
      break;
  }
  return "unknown";
}

}  // namespace headway::fleet
