#include <algorithm>
#include <nlohmann/json.hpp>

#include "metrics/report.h"

namespace headway::metrics {
namespace {

using nlohmann::ordered_json;
using timeline::Bucket;
using timeline::Group;

std::string key(std::string_view name) {
  return std::string(name) + "_ns";
}

ordered_json group_json(const timeline::Sums& sums, Group group) {
  ordered_json out = ordered_json::object();
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    if (timeline::group_of(bucket) == group) out[key(timeline::bucket_name(bucket))] = sums.ns[i];
  }
  return out;
}

ordered_json l2_json(const timeline::Sums& sums) {
  ordered_json out = ordered_json::object();
  for (std::size_t i = 0; i < timeline::kGroups; ++i) {
    const auto group = static_cast<Group>(i);
    out[key(timeline::group_name(group))] = sums.group(group);
  }
  return out;
}

template <typename T>
ordered_json maybe(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json failures_json(const Report& r) {
  ordered_json out = ordered_json::array();
  for (const FailureRow& f : r.failure_rows) {
    out.push_back({{"t_ns", f.t_ns},
                   {"attempt", f.attempt},
                   {"rank", maybe(f.rank)},
                   {"origin", f.origin},
                   {"category", f.category.empty() ? ordered_json() : ordered_json(f.category)},
                   {"role", nullptr},
                   {"retryable", nullptr},
                   {"lost_ns", f.lost_ns},
                   {"unsaved_ns", f.unsaved_ns},
                   {"time_to_recover_ns", maybe(f.time_to_recover_ns)},
                   {"time_to_new_data_ns", maybe(f.time_to_new_data_ns)},
                   {"reason", f.reason},
                   {"exit_code", f.exit_code},
                   {"signal", f.signal},
                   {"log", f.log.empty() ? ordered_json() : ordered_json(f.log)}});
  }
  return out;
}

ordered_json attempts_json(const Report& r) {
  ordered_json out = ordered_json::array();
  for (const AttemptRow& a : r.attempts) {
    out.push_back({{"attempt", a.id},
                   {"begin_ns", a.begin_ns},
                   {"end_ns", a.end_ns},
                   {"outcome", a.outcome},
                   {"steps", a.steps},
                   {"replayed_steps", a.replayed_steps},
                   {"first_step", a.first_step},
                   {"last_step", a.last_step},
                   {"restored_step", maybe(a.restored_step)},
                   {"restored_tier", a.restored_tier},
                   {"ranks", a.ranks},
                   {"l2", l2_json(a.sums)},
                   {"l3", group_json(a.sums, Group::launcher_init)}});
  }
  return out;
}

ordered_json ranks_json(const Report& r) {
  ordered_json out = ordered_json::array();
  for (const RankRow& row : r.ranks) {
    out.push_back({{"rank", row.rank},
                   {"host", row.host},
                   {"steps", row.steps},
                   {"critical_steps", row.critical_steps},
                   {"held_up_ns", row.held_up_ns},
                   {"straggler", row.straggler},
                   {"slow_in",
                    row.straggler ? nlohmann::ordered_json(row.slow_in) : nlohmann::ordered_json()},
                   {"l2", l2_json(row.sums)}});
  }
  return out;
}

ordered_json anomalies_json(const timeline::Anomalies& a) {
  return {{"out_of_order", a.out_of_order},
          {"clamped_times", a.clamped_times},
          {"unmatched_ends", a.unmatched_ends},
          {"unclosed_spans", a.unclosed_spans},
          {"too_deep", a.too_deep},
          {"unended_steps", a.unended_steps},
          {"steps_backwards", a.steps_backwards},
          {"merged_segments", a.merged_segments},
          {"device_times_missing", a.device_times_missing},
          {"partial_steps", a.partial_steps},
          {"missing_ends", a.missing_ends},
          {"events_after_end", a.events_after_end},
          {"overflowed_facts", a.overflowed_facts},
          {"unknown_events", a.unknown_events}};
}

ordered_json missed_json(const CompileCache& found) {
  ordered_json out = ordered_json::array();
  for (const MissedRow& row : found.missed) {
    out.push_back({{"attempt", row.attempt},
                   {"ranks", row.ranks},
                   {"count", row.count},
                   {"misses", row.misses},
                   {"hits", row.hits}});
  }
  return out;
}

ordered_json compile_cache_json(const CompileCache& found) {
  return {{"hits", found.hits},
          {"misses", found.misses},
          {"bypasses", found.bypasses},
          {"hit_pct", maybe(found.hit_pct())},
          {"coverage_pct", maybe(found.coverage_pct())},
          {"builds", found.builds},
          {"original_ns", found.original_ns},
          {"saved_ns", found.saved_ns()},
          {"pulled_archives", found.pulled_archives},
          {"pulled_files", found.pulled_files},
          {"pulled_bytes", found.pulled_bytes},
          {"pull_ns", found.pull_ns},
          {"ranks", found.ranks},
          {"worst_rank", maybe(found.worst_rank)},
          {"worst_misses", found.worst_misses},
          {"missed", missed_json(found)},
          {"missed_left_out", found.missed_left_out}};
}

ordered_json coverage_json(const Coverage& c) {
  return {{"ranks_reporting", c.ranks_reporting},
          {"ranks_expected", c.ranks_expected},
          {"dropped_records", c.dropped_records},
          {"damaged_records", c.damaged_records},
          {"uncommitted_records", c.uncommitted_records},
          {"clock_jumps", c.clock_jumps},
          {"gaps_ns", c.gaps_ns},
          {"overlap_ns", c.overlap_ns},
          {"duplicates", c.duplicates},
          {"bad_lines", c.bad_lines},
          {"names_dropped", c.names_dropped},
          {"step_numbers_as_data", c.step_numbers_as_data},
          {"missing_marks", c.missing_marks},
          {"anomalies", anomalies_json(c.anomalies)},
          {"notes", c.notes}};
}

ordered_json stages_json(const Report& r) {
  ordered_json out = ordered_json::array();
  for (const StageRow& s : r.critical_stages) {
    out.push_back({{"stage", s.stage},
                   {"attempt", s.attempt},
                   {"rank", s.rank},
                   {"held_up_ns", s.held_up_ns}});
  }
  return out;
}

}  // namespace

std::string to_json(const Report& r) {
  const std::int64_t blocked =
      r.sums[Bucket::wasted_checkpoint_blocked] + r.sums[Bucket::shutdown_final_save];
  const auto step_time = [&](std::int64_t ns) {
    return r.step_times.count > 0 ? ordered_json(ns) : ordered_json(nullptr);
  };
  ordered_json out = {
      {"job", r.job},
      {"running", r.running},
      {"state", r.state.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(r.state)},
      {"begin_ns", r.begin_ns},
      {"end_ns", r.end_ns},
      {"wall_ns", r.wall_ns},
      {"queued_ns", r.queued_ns},
      {"between_runs_ns", r.between_runs_ns},
      {"ett_pct", r.ett_pct},
      {"idleness_pct", r.idleness_pct},
      {"failure_pct", r.failure_pct},
      {"failure_ns", r.failure_ns},
      {"l1",
       {{"time_to_start_ns", maybe(r.time_to_start_ns)},
        {"time_to_recover_ns", r.time_to_recover_ns},
        {"time_to_new_data_ns", r.time_to_new_data_ns},
        {"failures", r.failures},
        {"user_errors", r.user_errors},
        {"preemptions", r.preemptions}}},
      {"l2", l2_json(r.sums)},
      {"l3", group_json(r.sums, Group::launcher_init)},
      {"compile", group_json(r.sums, Group::compile)},
      {"wasted", group_json(r.sums, Group::wasted)},
      {"shutdown", group_json(r.sums, Group::shutdown)},
      {"unsaved_ns", r.unsaved_ns},
      {"checkpoint",
       {{"saves", r.saves},
        {"failed", r.failed_saves},
        {"blocked_ns", blocked},
        {"interval_s", maybe(r.save_interval_s)},
        {"restarts", r.restarts}}},
      {"steps",
       {{"finished", r.steps},
        {"replayed", r.replayed_steps},
        {"mean_ns",
         step_time(r.step_times.sum_ns /
                   static_cast<std::int64_t>(std::max<std::uint64_t>(1, r.step_times.count)))},
        {"p50_ns", step_time(r.step_times.quantile_ns(0.5))},
        {"p99_ns", step_time(r.step_times.quantile_ns(0.99))},
        {"max_ns", step_time(r.step_times.max_ns)},
        {"last_end_ns", maybe(r.last_step_end_ns)}}},
      {"failures", failures_json(r)},
      {"attempts", attempts_json(r)},
      {"ranks", ranks_json(r)},
      {"critical_stages", stages_json(r)},
      {"spans", r.user_spans},
      {"attrs", r.attrs},
      {"coverage", coverage_json(r.coverage)}};
  if (r.compile_cache) out["compile_cache"] = compile_cache_json(*r.compile_cache);
  // Names may hold any bytes; what is not UTF-8 is replaced, never refused.
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace headway::metrics
