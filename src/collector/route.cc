#include "collector/route.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/job_path.h"
#include "cache/shelf.h"

namespace headway::collector {
namespace {

using store::Role;

constexpr std::size_t parts_max = 8;

// "/a/b" → a, b; empty where a part is empty, so that no path has two spellings.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> out;
  std::size_t at = 1;
  while (at <= path.size() && out.size() < parts_max) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end == at) return {};
    out.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  if (at <= path.size()) return {};
  return out;
}

template <typename Number>
std::optional<Number> number_of(const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

constexpr std::array<std::pair<std::string_view, Place>, 7> kFleet = {{
    {"dimensions", Place::dimensions},
    {"rollup", Place::rollup},
    {"trend", Place::trend},
    {"losses", Place::losses},
    {"waterfall", Place::waterfall},
    {"failures", Place::failures},
    {"hosts", Place::hosts},
}};

Route plain(Place place) {
  return {.place = place};
}

Route job_route(const std::vector<std::string>& parts) {
  if (parts.size() == 3) return plain(Place::jobs);
  if (parts.size() != 5 || !base::is_job_name(parts[3])) return {};
  const Place place = parts[4] == "report"     ? Place::report
                      : parts[4] == "timeline" ? Place::timeline
                      : parts[4] == "advice"   ? Place::advice
                                               : Place::none;
  return {.place = place, .job = parts[3]};
}

Route ingest_route(const std::vector<std::string>& parts) {
  if (parts.size() != 5 || !base::is_job_name(parts[3])) return {};
  const auto attempt = number_of<std::uint64_t>(parts[4]);
  if (!attempt || *attempt > INT64_MAX) return {};
  return {.place = Place::ingest,
          .role = Role::ingest,
          .method = "POST",
          .job = parts[3],
          .attempt = *attempt};
}

Route regression_route(const std::vector<std::string>& parts) {
  if (parts.size() == 3) return plain(Place::regressions);
  if (parts.size() != 5 || parts[4] != "acknowledge") return {};
  const auto id = number_of<std::int64_t>(parts[3]);
  if (!id || *id <= 0) return {};
  return {.place = Place::acknowledge, .role = Role::admin, .method = "POST", .id = *id};
}

Route caches_route(const std::vector<std::string>& parts) {
  if (parts.size() == 3) return {.place = Place::caches, .role = Role::ingest};
  if (parts.size() != 6) return {};
  std::string name = parts[3] + "/" + parts[4] + "/" + parts[5];
  if (!cache::is_shelf_name(name)) return {};
  return {.place = Place::caches, .role = Role::ingest, .archive = std::move(name)};
}

Route api_route(const std::vector<std::string>& parts) {
  const std::string& what = parts[2];
  if (what == "ingest") return ingest_route(parts);
  if (what == "jobs") return job_route(parts);
  if (what == "regressions") return regression_route(parts);
  if (what == "caches") return caches_route(parts);
  if (what == "fleet" && parts.size() == 4) {
    for (const auto& [name, place] : kFleet) {
      if (name == parts[3]) return plain(place);
    }
  }
  if (parts.size() != 3) return {};
  if (what == "status") return plain(Place::status);
  if (what == "events") return plain(Place::events);
  if (what == "openapi.json") return {.place = Place::openapi, .open = true};
  return {};
}

}  // namespace

Route route_of(const std::string& path) {
  if (path == "/healthz") return {.place = Place::health, .open = true};
  if (path == "/metrics") return plain(Place::metrics);
  if (path == "/") return {.place = Place::page, .open = true};
  const std::vector<std::string> parts = parts_of(path);
  if (parts.empty()) return {};
  if (parts[0] != "api") return {.place = Place::page, .open = true};
  if (parts.size() < 3 || parts[1] != "v1") return {};
  return api_route(parts);
}

}  // namespace headway::collector
