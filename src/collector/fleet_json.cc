#include "collector/fleet_json.h"

#include "fleet/bucket_words.h"

namespace headway::collector {

using nlohmann::json;

json durations_json(const std::optional<fleet::Durations>& durations) {
  if (!durations) return nullptr;
  return {{"count", durations->count},
          {"open", durations->open},
          {"mean", doubt_json(durations->mean_s)},
          {"p50", maybe(durations->p50_s)},
          {"p90", maybe(durations->p90_s)}};
}

json wide_json(base::Int128 ns) {
  if (ns <= INT64_MAX && ns >= INT64_MIN) return static_cast<std::int64_t>(ns);
  return static_cast<double>(ns);
}

json key_json(const std::vector<std::string>& names, const std::vector<std::string>& values) {
  json out = json::object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i < names.size() ? names[i] : "group"] = values[i];
  }
  return out;
}

namespace {

// As a double: what is summed over a fleet may be more nanoseconds than an integer holds.
double seconds(base::Int128 ns) {
  return static_cast<double>(ns) / 1e9;
}

// Null: nothing was compiled.
json cache_json(const fleet::CacheSum& cache) {
  if (cache.attempts == 0) return nullptr;
  json out = {{"attempts", cache.attempts},
              {"asked", cache.asked},
              {"unpacked", cache.unpacked},
              {"unpacked_pct", maybe(cache.unpacked_pct())},
              {"told", cache.told},
              {"hits", cache.hits},
              {"misses", cache.misses},
              {"bypasses", cache.bypasses},
              {"hit_pct", maybe(cache.hit_pct())},
              {"coverage_pct", maybe(cache.coverage_pct())},
              {"original_s", nullptr},
              {"spent_s", nullptr},
              {"saved_s", nullptr},
              {"saved_device_hours", nullptr}};
  if (const auto saved_ns = cache.saved_ns()) {
    out["original_s"] = seconds(cache.original_ns);
    out["spent_s"] = seconds(cache.spent_ns);
    out["saved_s"] = seconds(*saved_ns);
    out["saved_device_hours"] = seconds(cache.saved_device_ns) / 3600;
  }
  return out;
}

}  // namespace

json group_json(const fleet::RollupGroup& group, const std::vector<std::string>& names,
                fleet::Weight weight) {
  json buckets = json::object();
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    buckets[std::string(fleet::bucket_word(static_cast<timeline::Bucket>(i)))] = group.buckets[i];
  }
  return {{"key", key_json(names, group.key)},
          {"jobs", group.jobs},
          {"attempts", group.attempts},
          {"running", group.running},
          {"device_hours", group.device_hours},
          {"wall_ns", wide_json(group.wall_ns)},
          {"queued_ns", wide_json(group.queued_ns)},
          {"ett_pct", doubt_json(group.ett_pct)},
          {"idleness_pct", doubt_json(group.idleness_pct)},
          {"failure_pct", doubt_json(group.failure_pct)},
          {"time_to_start_s", durations_json(group.time_to_start)},
          {"time_to_recover_s", durations_json(group.time_to_recover)},
          {"failures", group.failures},
          {"user_errors", group.user_errors},
          {"preemptions", group.preemptions},
          {"failures_per_1000_device_hours", doubt_json(group.failures_per_1000_device_hours)},
          {"unsaved_device_hours", group.unsaved_device_hours},
          {"checkpoint_blocked_pct", maybe(group.checkpoint_blocked_pct)},
          {"saves", group.saves},
          {"compile_cache", cache_json(group.cache)},
          {"buckets", std::move(buckets)},
          {"unit", weight == fleet::Weight::device ? "device_hours" : "pct"}};
}

void add_selection(json& out, const fleet::Selection& selection) {
  out["from"] = fleet::day_text(selection.from_day);
  out["to"] = fleet::day_text(selection.to_day);
  out["weight"] = selection.weight == fleet::Weight::device ? "device" : "job";
}

std::string to_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace headway::collector
