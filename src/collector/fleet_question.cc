#include "collector/fleet_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace headway::collector {

using base::Result;
using base::Status;
using fleet::Dimension;
using net::ServerRequest;

namespace {

constexpr std::string_view kDimensionsKnown =
    "family, team, cluster, hardware, size, torch, priority, revision, config";

Result<std::int32_t> day_of(const ServerRequest& request, const std::string& name,
                            std::int32_t otherwise) {
  const std::string* text = request.argument(name);
  if (text == nullptr) return otherwise;
  const auto day = fleet::parse_day(*text);
  if (day) return *day;
  return Status::invalid(fmt::format("{}={}: give a day as in 2026-10-01", name, *text));
}

Result<fleet::By> words_of(std::string_view text, bool day_too) {
  fleet::By out;
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    if (day_too && word == "day" && !out.day) {
      out.day = true;
      continue;
    }
    const auto dimension = fleet::dimension_of(word);
    if (!dimension) {
      return Status::invalid(fmt::format("by={}: no such dimension; there are {}{}", word,
                                         kDimensionsKnown, day_too ? ", and day, once" : ""));
    }
    out.dimensions.push_back(*dimension);
  }
  if (out.dimensions.size() > 2) return Status::invalid("by: at most two dimensions");
  return out;
}

}  // namespace

DayRange days_with_data(const fleet::Snapshot& snapshot) {
  DayRange days{INT32_MAX, INT32_MIN};
  for (const auto& chunk : snapshot.chunks()) {
    if (chunk->day_min > chunk->day_max) continue;
    days.from = std::min(days.from, chunk->day_min);
    days.to = std::max(days.to, chunk->day_max == INT32_MAX ? INT32_MAX : chunk->day_max + 1);
  }
  return days.from < days.to ? days : DayRange{};
}

Result<std::vector<fleet::Where>> where_of(const ServerRequest& request, std::string_view name) {
  std::vector<fleet::Where> out;
  for (const auto& [key, value] : request.query) {
    if (key != name) continue;
    const std::size_t colon = value.find(':');
    const auto dimension = fleet::dimension_of(value.substr(0, colon));
    if (colon == std::string::npos || !dimension) {
      return Status::invalid(
          fmt::format("{}={}: give dimension:value, as in family:dlrm; dimensions "
                      "are {}",
                      name, value, kDimensionsKnown));
    }
    if (out.size() == where_max) {
      return Status::invalid(fmt::format("{} is given more than {} times", name, where_max));
    }
    out.push_back({*dimension, value.substr(colon + 1)});
  }
  return out;
}

Result<fleet::Selection> selection_of(const ServerRequest& request, const fleet::Snapshot& snapshot,
                                      std::string_view suffix) {
  const auto named = [&](std::string_view name) { return std::string(name) + std::string(suffix); };
  const DayRange known = days_with_data(snapshot);
  fleet::Selection out;
  auto to = day_of(request, named("to"), known.to);
  if (!to.ok()) return to.status();
  out.to_day = *to;
  const std::int64_t thirty_before = std::int64_t{out.to_day} - days_by_default;
  auto from = day_of(request, named("from"),
                     static_cast<std::int32_t>(std::max<std::int64_t>(known.from, thirty_before)));
  if (!from.ok()) return from.status();
  out.from_day = *from;
  auto where = where_of(request, named("where"));
  if (!where.ok()) return where.status();
  out.where = std::move(*where);
  const std::string* weight = request.argument("weight");
  if (weight != nullptr && *weight != "device" && *weight != "job") {
    return Status::invalid(fmt::format("weight={}: give device or job", *weight));
  }
  if (weight != nullptr && *weight == "job") out.weight = fleet::Weight::job;
  return out;
}

Result<std::vector<Dimension>> dimensions_of(std::string_view text) {
  auto by = words_of(text, false);
  if (!by.ok()) return by.status();
  return std::move(by->dimensions);
}

Result<fleet::By> by_of(std::string_view text) {
  return words_of(text, true);
}

Result<std::int64_t> number_of(const ServerRequest& request, std::string_view name,
                               std::int64_t otherwise, std::int64_t min, std::int64_t max) {
  const std::string* text = request.argument(name);
  if (text == nullptr) return otherwise;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < min || number > max) {
    return Status::invalid(
        fmt::format("{}={}: give a number from {} to {}", name, *text, min, max));
  }
  return number;
}

}  // namespace headway::collector
