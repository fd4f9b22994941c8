// What a question about the fleet is asked of: days, values of dimensions, and what each job counts
// for. Value types; pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/table.h"

namespace headway::fleet {

// "2026-10-01" ↔ days since 1970-01-01 UTC.
[[nodiscard]] std::string day_text(std::int32_t day);
[[nodiscard]] std::optional<std::int32_t> parse_day(std::string_view text);

enum class Weight : std::uint8_t {
  device,  // by device-hours: what the fleet pays for
  job,     // every job alike: what its owner sees
};

struct Where {
  Dimension dimension = Dimension::family;
  std::string value;
};

struct Selection {
  std::int32_t from_day = 0, to_day = 0;  // from inclusive, to exclusive
  std::vector<Where> where;               // same dimension: or; different ones: and
  Weight weight = Weight::device;
};

// A selection, made ready for the rows of one snapshot.
class Filter {
 public:
  Filter(const Snapshot& snapshot, const Selection& selection);

  [[nodiscard]] bool has_day(std::int32_t day) const { return day >= from_day_ && day < to_day_; }
  [[nodiscard]] bool has_chunk(const Chunk& chunk) const {
    return chunk.day_max >= from_day_ && chunk.day_min < to_day_;
  }
  [[nodiscard]] bool has_attempt(const Chunk& chunk, std::uint32_t at) const {
    for (const Allowed& each : allowed_) {
      if (each.ids[chunk.dimensions[each.dimension][at]] == 0) return false;
    }
    return true;
  }
  [[nodiscard]] std::int32_t from_day() const { return from_day_; }
  [[nodiscard]] std::int32_t to_day() const { return to_day_; }

 private:
  struct Allowed {
    std::size_t dimension = 0;
    std::vector<std::uint8_t> ids;  // 1: chosen
  };
  std::vector<Allowed> allowed_;
  std::int32_t from_day_, to_day_;
};

}  // namespace headway::fleet
