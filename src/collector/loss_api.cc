#include "collector/loss_api.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/answers.h"
#include "collector/fleet_json.h"
#include "collector/fleet_question.h"
#include "fleet/bucket_words.h"
#include "fleet/failures.h"
#include "fleet/hosts.h"
#include "fleet/losses.h"
#include "fleet/waterfall.h"

namespace headway::collector {

using fleet::Selection;
using fleet::Snapshot;
using net::ServerAnswer;
using net::ServerRequest;
using nlohmann::json;

ServerAnswer losses_answer(const ServerRequest& request, const Snapshot& snapshot) {
  auto selection = selection_of(request, snapshot);
  if (!selection.ok()) return error_answer(400, selection.status().message());
  const fleet::Losses all = fleet::losses(snapshot, *selection);
  json losses = json::array();
  for (const fleet::Loss& loss : all.losses) {
    json worst = json::array();
    for (const fleet::Loss::Attempt& each : loss.worst) {
      worst.push_back(
          {{"job", each.job}, {"attempt", each.attempt}, {"device_hours", each.device_hours}});
    }
    losses.push_back({{"bucket", fleet::bucket_word(loss.bucket)},
                      {"label", fleet::bucket_label(loss.bucket)},
                      {"group", timeline::group_name(timeline::group_of(loss.bucket))},
                      {"device_hours", loss.device_hours},
                      {"share_pct", loss.share_pct},
                      {"attempts", loss.attempts},
                      {"worst", std::move(worst)},
                      {"advice", fleet::bucket_advice(loss.bucket)}});
  }
  json out = {{"device_hours", all.device_hours},
              {"ett_pct", maybe(all.ett_pct)},
              {"losses", std::move(losses)}};
  add_selection(out, *selection);
  return json_answer(200, to_text(out));
}

ServerAnswer failures_answer(const ServerRequest& request, const Snapshot& snapshot) {
  auto selection = selection_of(request, snapshot);
  if (!selection.ok()) return error_answer(400, selection.status().message());
  const fleet::Failures all = fleet::failures(snapshot, *selection);
  json categories = json::array();
  for (const fleet::FailureCategory& each : all.categories) {
    categories.push_back(
        {{"category", each.category},
         {"origin", fleet::origin_name(each.origin)},
         {"count", each.count},
         {"jobs", each.jobs},
         {"device_hours_lost", each.device_hours_lost},
         {"unsaved_device_hours", each.unsaved_device_hours},
         {"time_to_recover_s", durations_json(each.time_to_recover)},
         {"last",
          {{"job", each.last_job}, {"attempt", each.last_attempt}, {"t_ns", each.last_ns}}}});
  }
  json out = {{"categories", std::move(categories)}, {"device_hours_lost", all.device_hours_lost}};
  add_selection(out, *selection);
  return json_answer(200, to_text(out));
}

ServerAnswer hosts_answer(const ServerRequest& request, const Snapshot& snapshot) {
  auto selection = selection_of(request, snapshot);
  if (!selection.ok()) return error_answer(400, selection.status().message());
  const fleet::Hosts all = fleet::hosts(snapshot, *selection);
  json hosts = json::array();
  for (const fleet::HostRow& each : all.hosts) {
    hosts.push_back(
        {{"host", each.host},
         {"attempts", each.attempts},
         {"device_hours", each.device_hours},
         {"failures", each.failures},
         {"expected", each.expected},
         {"score", each.score},
         {"q_value", each.q_value},
         {"lemon", each.lemon},
         {"device_hours_lost", each.device_hours_lost},
         {"last_failure_ns", each.last_failure_ns ? json(*each.last_failure_ns) : json()}});
  }
  json out = {{"hosts", std::move(hosts)},
              {"more", all.more},
              {"fleet_failures_per_1000_device_hours", maybe(all.failures_per_1000_device_hours)}};
  add_selection(out, *selection);
  return json_answer(200, to_text(out));
}

namespace {

json end_json(const fleet::Waterfall::End& end, const Selection& selection) {
  json out = doubt_json(end.doubt);
  out["count"] = end.count;
  out["from"] = fleet::day_text(selection.from_day);
  out["to"] = fleet::day_text(selection.to_day);
  return out;
}

// The halves of what there is, where somebody has not said which days.
void halve(const ServerRequest& request, const Snapshot& snapshot, Selection& a, Selection& b) {
  const DayRange days = days_with_data(snapshot);
  const std::int32_t middle = days.from + (days.to - days.from) / 2;
  const auto given = [&](const char* name) { return request.argument(name) != nullptr; };
  if (!given("from_a")) a.from_day = days.from;
  if (!given("to_a")) a.to_day = middle;
  if (!given("from_b")) b.from_day = middle;
  if (!given("to_b")) b.to_day = days.to;
}

}  // namespace

ServerAnswer waterfall_answer(const ServerRequest& request, const Snapshot& snapshot) {
  const std::string* metric_text = request.argument("metric");
  const std::string* split_text = request.argument("split");
  const auto metric = metric_text == nullptr ? fleet::WaterfallMetric::time_to_start_s
                                             : fleet::waterfall_metric_of(*metric_text);
  const auto split = split_text == nullptr ? fleet::WaterfallSplit::component
                                           : fleet::waterfall_split_of(*split_text);
  if (!metric) {
    return error_answer(400,
                        fmt::format("metric={}: give time_to_start_s or ett_pct", *metric_text));
  }
  if (!split)
    return error_answer(400, fmt::format("split={}: give component or lever", *split_text));
  auto a = selection_of(request, snapshot, "_a"), b = selection_of(request, snapshot, "_b");
  if (!a.ok()) return error_answer(400, a.status().message());
  if (!b.ok()) return error_answer(400, b.status().message());
  halve(request, snapshot, *a, *b);
  const fleet::Waterfall all = fleet::waterfall(snapshot, *metric, *split, *a, *b);
  json steps = json::array();
  for (const fleet::WaterfallStep& step : all.steps) {
    steps.push_back({{"name", step.name},
                     {"label", step.label},
                     {"kind", fleet::step_kind_name(step.kind)},
                     {"delta", step.delta},
                     {"low", maybe(step.low)},
                     {"high", maybe(step.high)}});
  }
  const bool seconds = *metric == fleet::WaterfallMetric::time_to_start_s;
  return json_answer(
      200, to_text({{"metric", seconds ? "time_to_start_s" : "ett_pct"},
                    {"unit", seconds ? "s" : "%"},
                    {"split", *split == fleet::WaterfallSplit::component ? "component" : "lever"},
                    {"a", end_json(all.a, *a)},
                    {"b", end_json(all.b, *b)},
                    {"steps", std::move(steps)}}));
}

}  // namespace headway::collector
