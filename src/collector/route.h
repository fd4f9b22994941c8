// Which place a request's path names, what one has to be to ask there, and how. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/store.h"

namespace headway::collector {

enum class Place : std::uint8_t {
  none,
  page,  // and what belongs to it
  health,
  metrics,
  openapi,
  ingest,
  status,
  jobs,
  report,
  timeline,
  advice,
  events,
  dimensions,
  rollup,
  trend,
  losses,
  waterfall,
  failures,
  hosts,
  regressions,
  acknowledge,
  caches,
};
inline constexpr std::size_t kPlaces = static_cast<std::size_t>(Place::acknowledge) + 1;

struct Route {
  Place place = Place::none;
  bool open = false;  // to everybody: nothing of any job is told there
  store::Role role = store::Role::read;
  std::string_view method = "GET";
  std::string job = {};
  std::uint64_t attempt = 0;
  std::int64_t id = 0;
  std::string archive = {};  // of caches; empty: all of them
};

// `path` is decoded and begins with '/'.
[[nodiscard]] Route route_of(const std::string& path);

}  // namespace headway::collector
