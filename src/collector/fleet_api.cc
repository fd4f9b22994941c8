#include "collector/fleet_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "collector/answers.h"
#include "collector/fleet_json.h"
#include "collector/fleet_question.h"
#include "collector/loss_api.h"
#include "fleet/catalogue.h"
#include "fleet/job_list.h"
#include "fleet/rollup.h"
#include "fleet/trend.h"

namespace headway::collector {
namespace {

using base::Result;
using base::Status;
using fleet::Dimension;
using fleet::Selection;
using fleet::Snapshot;
using net::ServerAnswer;
using net::ServerRequest;
using nlohmann::json;

ServerAnswer bad(const Status& status) {
  return error_answer(400, status.message());
}

std::vector<std::string> names_of(const std::vector<Dimension>& dimensions) {
  std::vector<std::string> out;
  for (const Dimension dimension : dimensions) out.emplace_back(fleet::dimension_name(dimension));
  return out;
}

std::string text_argument(const ServerRequest& request, std::string_view name,
                          std::string_view otherwise) {
  const std::string* text = request.argument(name);
  return text == nullptr ? std::string(otherwise) : *text;
}

ServerAnswer dimensions_answer(const Snapshot& snapshot) {
  const fleet::Catalogue all = fleet::catalogue(snapshot);
  json dimensions = json::array(), levers = json::array();
  for (std::size_t i = 0; i < fleet::kDimensions; ++i) {
    json values = json::array();
    for (const fleet::Catalogue::Value& each : all.dimensions[i].values) {
      values.push_back({{"value", each.value},
                        {"attempts", each.attempts},
                        {"device_hours", each.device_hours}});
    }
    dimensions.push_back({{"name", fleet::dimension_name(static_cast<Dimension>(i))},
                          {"values", std::move(values)},
                          {"more", all.dimensions[i].more}});
  }
  for (const fleet::Catalogue::Lever& lever : all.levers) {
    levers.push_back({{"name", lever.name}, {"attempts", lever.attempts}});
  }
  const auto day_json = [](const std::optional<std::int32_t>& day) {
    return day ? json(fleet::day_text(*day)) : json();
  };
  return json_answer(200, to_text({{"dimensions", std::move(dimensions)},
                                   {"levers", std::move(levers)},
                                   {"first_day", day_json(all.first_day)},
                                   {"last_day", day_json(all.last_day)},
                                   {"jobs", all.jobs},
                                   {"jobs_running", all.jobs_running},
                                   {"attempts", all.attempts}}));
}

ServerAnswer rollup_answer(const ServerRequest& request, const Snapshot& snapshot) {
  auto selection = selection_of(request, snapshot);
  if (!selection.ok()) return bad(selection.status());
  auto by = by_of(text_argument(request, "by", ""));
  if (!by.ok()) return bad(by.status());
  std::vector<std::string> names = names_of(by->dimensions);
  if (by->day) names.emplace_back("day");
  const fleet::Rollup rollup = fleet::roll_up(snapshot, *selection, *by);
  json groups = json::array();
  if (!names.empty()) {
    for (const fleet::RollupGroup& group : rollup.groups) {
      groups.push_back(group_json(group, names, selection->weight));
    }
  }
  json out = {{"by", names},
              {"groups", std::move(groups)},
              {"more", rollup.more},
              {"total", group_json(rollup.total, {}, selection->weight)}};
  add_selection(out, *selection);
  return json_answer(200, to_text(out));
}

json numbers_json(const std::vector<std::optional<double>>& values) {
  json out = json::array();
  for (const auto& value : values) out.push_back(maybe(value));
  return out;
}

ServerAnswer trend_answer(const ServerRequest& request, const Snapshot& snapshot) {
  auto selection = selection_of(request, snapshot);
  if (!selection.ok()) return bad(selection.status());
  const std::string name = text_argument(request, "metric", "ett_pct");
  const auto metric = fleet::parse_metric(name);
  if (!metric) {
    return error_answer(400, fmt::format("metric={}: no such metric; ett_pct, time_to_start_s, "
                                         "bucket:compile_cold and others are in openapi.json",
                                         name));
  }
  auto by = dimensions_of(text_argument(request, "by", ""));
  if (!by.ok()) return bad(by.status());
  const fleet::Trend trend = fleet::trend(snapshot, *selection, *metric, *by);
  const std::vector<std::string> names = names_of(*by);
  json series = json::array();
  std::size_t days = 0;
  for (const fleet::TrendSeries& each : trend.series) {
    days = std::max(days, each.value.size());
    series.push_back({{"key", key_json(names, each.key)},
                      {"value", numbers_json(each.value)},
                      {"low", numbers_json(each.low)},
                      {"high", numbers_json(each.high)},
                      {"device_hours", each.device_hours}});
  }
  json day_names = json::array();
  for (std::size_t i = 0; i < days; ++i) {
    day_names.push_back(fleet::day_text(trend.from_day + static_cast<std::int32_t>(i)));
  }
  json out = {{"metric", name},
              {"unit", fleet::metric_unit(*metric)},
              {"days", std::move(day_names)},
              {"series", std::move(series)}};
  add_selection(out, *selection);
  return json_answer(200, to_text(out));
}

// "1795000000000000000:name", as told with the page before.
Result<std::optional<fleet::JobCursor>> cursor_of(const ServerRequest& request) {
  const std::string* text = request.argument("before");
  if (text == nullptr) return std::optional<fleet::JobCursor>();
  const std::size_t colon = text->find(':');
  fleet::JobCursor cursor;
  const char* end = text->data() + std::min(colon, text->size());
  const auto [stop, error] = std::from_chars(text->data(), end, cursor.begin_ns);
  if (colon == std::string::npos || error != std::errc() || stop != end) {
    return Status::invalid("before=" + *text + ": give what `next` of the page before says");
  }
  cursor.job = text->substr(colon + 1);
  return std::optional(cursor);
}

json job_json(const fleet::ListedJob& job) {
  json dimensions = json::object();
  for (std::size_t i = 0; i < fleet::kDimensions; ++i) {
    dimensions[std::string(fleet::dimension_name(static_cast<Dimension>(i)))] = job.dimensions[i];
  }
  json out = {{"job", job.job},
              {"state", fleet::job_state_name(job.state)},
              {"first_ns", job.begin_ns},
              {"heard_ns", job.end_ns},
              {"dimensions", std::move(dimensions)},
              {"devices", job.devices},
              {"attempts", job.attempts},
              {"wall_ns", job.wall_ns},
              {"ett_pct", nullptr},
              {"failures", job.failures}};
  if (job.wall_ns > 0) {
    out["ett_pct"] = 100 * static_cast<double>(job.effective_ns) / static_cast<double>(job.wall_ns);
  }
  return out;
}

}  // namespace

ServerAnswer fleet_answer(Place place, const ServerRequest& request, const Snapshot& snapshot) {
  switch (place) {
    case Place::dimensions:
      return dimensions_answer(snapshot);
    case Place::rollup:
      return rollup_answer(request, snapshot);
    case Place::trend:
      return trend_answer(request, snapshot);
    case Place::losses:
      return losses_answer(request, snapshot);
    case Place::failures:
      return failures_answer(request, snapshot);
    case Place::hosts:
      return hosts_answer(request, snapshot);
    case Place::waterfall:
      return waterfall_answer(request, snapshot);
    default:
      return error_answer(404, "there is nothing here");
  }
}

ServerAnswer jobs_answer(const ServerRequest& request, const Snapshot& snapshot,
                         std::int64_t now_ns) {
  fleet::JobQuestion question;
  question.now_ns = now_ns;
  auto where = where_of(request, "where");
  if (!where.ok()) return bad(where.status());
  question.where = std::move(*where);
  question.text = text_argument(request, "text", "");
  auto limit = number_of(request, "limit", question.limit, 1, fleet::JobQuestion::limit_max);
  if (!limit.ok()) return bad(limit.status());
  question.limit = static_cast<std::uint32_t>(*limit);
  if (const std::string* state = request.argument("state"); state != nullptr) {
    question.state = fleet::job_state_of(*state);
    if (!question.state) {
      return error_answer(
          400, fmt::format("state={}: give running, finished, failed or unended", *state));
    }
  }
  auto behind = cursor_of(request);
  if (!behind.ok()) return bad(behind.status());
  question.behind = std::move(*behind);
  const fleet::JobList list = fleet::list_jobs(snapshot, question);
  json jobs = json::array();
  for (const fleet::ListedJob& job : list.jobs) jobs.push_back(job_json(job));
  json out = {{"jobs", std::move(jobs)}, {"next", nullptr}};
  if (list.more)
    out["next"] = fmt::format("{}:{}", list.jobs.back().begin_ns, list.jobs.back().job);
  return json_answer(200, to_text(out));
}

}  // namespace headway::collector
