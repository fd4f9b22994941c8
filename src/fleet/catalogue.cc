#include "fleet/catalogue.h"

#include <algorithm>

#include "fleet/scan.h"

namespace headway::fleet {
namespace {

struct Found {
  std::uint64_t attempts = 0;
  Int128 device_ns = 0;
};

class Reading {
 public:
  explicit Reading(const Snapshot& snapshot) {
    for (std::size_t i = 0; i < kDimensions; ++i) {
      found_[i].resize(snapshot.values(static_cast<Dimension>(i)).size());
    }
    for (const auto& chunk : snapshot.chunks()) {
      for (const Chunk::Job& job : chunk->jobs) {
        if (job.live && job.count != 0) take(*chunk, job);
      }
    }
  }
  [[nodiscard]] Catalogue finish(const Snapshot& snapshot);

 private:
  void take(const Chunk& chunk, const Chunk::Job& job);
  void take_days(std::int32_t day) {
    out_.first_day = std::min(out_.first_day.value_or(day), day);
    out_.last_day = std::max(out_.last_day.value_or(day), day);
  }
  static Catalogue::Values most(const std::vector<Found>& found, const DictionaryView& names);

  Catalogue out_;
  std::array<std::vector<Found>, kDimensions> found_;
  std::array<std::uint64_t, 64> levers_{};
};

void Reading::take(const Chunk& chunk, const Chunk::Job& job) {
  ++out_.jobs;
  const std::uint32_t end = job.first + job.count;
  out_.jobs_running += chunk.ending[end - 1] == Ending::running ? 1 : 0;
  for (std::uint32_t at = job.first; at < end; ++at) {
    Int128 device_ns = 0;
    for (std::uint32_t i = chunk.first_slice[at]; i < chunk.first_slice[at + 1]; ++i) {
      device_ns += Int128{chunk.wall_ns[i]} * chunk.devices[at];
      take_days(chunk.day[i]);
    }
    for (std::size_t i = 0; i < kDimensions; ++i) {
      Found& found = found_[i][chunk.dimensions[i][at]];
      ++found.attempts;
      found.device_ns += device_ns;
    }
    for (std::uint64_t left = chunk.levers[at]; left != 0; left &= left - 1) {
      ++levers_[static_cast<std::size_t>(std::countr_zero(left))];
    }
    ++out_.attempts;
  }
}

Catalogue::Values Reading::most(const std::vector<Found>& found, const DictionaryView& names) {
  Catalogue::Values out;
  for (std::uint32_t id = 0; id < found.size(); ++id) {
    if (found[id].attempts == 0) continue;
    out.values.push_back(
        {std::string(names[id]), found[id].attempts, device_hours(found[id].device_ns)});
  }
  std::ranges::sort(out.values, [](const Catalogue::Value& a, const Catalogue::Value& b) {
    return a.device_hours != b.device_hours ? a.device_hours > b.device_hours : a.value < b.value;
  });
  if (out.values.size() > Catalogue::values_max) {
    out.more = out.values.size() - Catalogue::values_max;
    out.values.resize(Catalogue::values_max);
  }
  return out;
}

Catalogue Reading::finish(const Snapshot& snapshot) {
  for (std::size_t i = 0; i < kDimensions; ++i) {
    out_.dimensions[i] = most(found_[i], snapshot.values(static_cast<Dimension>(i)));
  }
  for (std::uint32_t i = 0; i < snapshot.levers().size(); ++i) {
    if (levers_[i] != 0) out_.levers.push_back({std::string(snapshot.levers()[i]), levers_[i]});
  }
  std::ranges::sort(out_.levers, {}, &Catalogue::Lever::name);
  return std::move(out_);
}

}  // namespace

Catalogue catalogue(const Snapshot& snapshot) {
  return Reading(snapshot).finish(snapshot);
}

}  // namespace headway::fleet
