#include "metrics/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace headway::metrics {
namespace {

using nlohmann::ordered_json;
using timeline::Bucket;
using timeline::Group;
using Number = std::optional<double>;

std::uint64_t new_steps(const Report& r) {
  return r.steps - std::min(r.steps, r.replayed_steps);
}

Number mean(const std::vector<std::int64_t>& times) {
  if (times.empty()) return std::nullopt;
  double sum = 0;
  for (const std::int64_t ns : times) sum += static_cast<double>(ns);
  return sum / static_cast<double>(times.size());
}

Number mean_step(const Report& r) {
  if (r.step_times.count == 0) return std::nullopt;
  return static_cast<double>(r.step_times.sum_ns) / static_cast<double>(r.step_times.count);
}

std::vector<Compared> numbers_of(const Report& job, const Report& against) {
  std::vector<Compared> out;
  const auto add = [&](const char* name, Unit unit, Wanted wanted, auto number) {
    out.push_back({name, unit, wanted, number(job), number(against)});
  };
  // What only ranks can tell is not known where none left a record: 0 would read as measured.
  const auto told = [](auto number) {
    return [number](const Report& r) -> Number {
      if (r.coverage.ranks_reporting == 0) return std::nullopt;
      return static_cast<double>(number(r));
    };
  };
  const auto whole = [](auto number) {
    return [number](const Report& r) -> Number { return static_cast<double>(number(r)); };
  };
  add("wall_ns", Unit::ns, Wanted::less, whole([](const Report& r) { return r.wall_ns; }));
  add("ett_pct", Unit::pct, Wanted::more, told([](const Report& r) { return r.ett_pct; }));
  add("failure_ns", Unit::ns, Wanted::less, told([](const Report& r) { return r.failure_ns; }));
  add("idleness_ns", Unit::ns, Wanted::less,
      told([](const Report& r) { return r.wall_ns - r.sums[Bucket::effective] - r.failure_ns; }));
  add("time_to_start_ns", Unit::ns, Wanted::less, [](const Report& r) -> Number {
    if (!r.time_to_start_ns) return std::nullopt;
    return static_cast<double>(*r.time_to_start_ns);
  });
  add("interruptions", Unit::count, Wanted::nothing,
      whole([](const Report& r) { return r.failure_rows.size(); }));
  add("time_to_recover_ns", Unit::ns, Wanted::less,
      [](const Report& r) { return mean(r.time_to_recover_ns); });
  add("time_to_new_data_ns", Unit::ns, Wanted::less,
      [](const Report& r) { return mean(r.time_to_new_data_ns); });
  add("new_steps", Unit::count, Wanted::nothing, told(new_steps));
  add("replayed_steps", Unit::count, Wanted::less,
      told([](const Report& r) { return r.replayed_steps; }));
  add("unsaved_ns", Unit::ns, Wanted::less, told([](const Report& r) { return r.unsaved_ns; }));
  add("step_mean_ns", Unit::ns, Wanted::less, mean_step);
  add("saves", Unit::count, Wanted::nothing, told([](const Report& r) { return r.saves; }));
  add("checkpoint_blocked_ns", Unit::ns, Wanted::less, told([](const Report& r) {
        return r.sums[Bucket::wasted_checkpoint_blocked] + r.sums[Bucket::shutdown_final_save];
      }));
  return out;
}

Compared time(std::string_view name, bool effective, std::int64_t job, std::int64_t against) {
  return {fmt::format("{}_ns", name), Unit::ns, effective ? Wanted::nothing : Wanted::less,
          static_cast<double>(job), static_cast<double>(against)};
}

// Why a job is not one that did all its work; empty: it is, or nobody has looked.
std::string_view unlike_finished(std::string_view state) {
  if (state == "running") return "still runs";
  if (state == "restarting") return "is between two attempts";
  if (state == "stopped") return "was stopped";
  if (state == "failed") return "failed";
  return state == "unended" ? "has no end recorded" : "";
}

std::vector<std::string> differences(const Report& job, const Report& against) {
  std::vector<std::string> notes;
  for (const Report* r : {&job, &against}) {
    const std::string_view why = unlike_finished(r->state);
    if (!why.empty()) notes.push_back(fmt::format("{} {}.", r->job, why));
  }
  const std::uint32_t ranks[] = {job.coverage.ranks_reporting, against.coverage.ranks_reporting};
  if (ranks[0] != ranks[1]) {
    notes.push_back(fmt::format("{} and {} ranks left a record.", ranks[0], ranks[1]));
  }
  if (new_steps(job) != new_steps(against)) {
    notes.push_back(
        fmt::format("{} and {} new steps were trained.", new_steps(job), new_steps(against)));
  }
  return notes;
}

ordered_json to_object(const Compared& row) {
  const auto number = [&](const Number& value) -> ordered_json {
    if (!value) return nullptr;
    if (row.unit == Unit::pct) return *value;
    return static_cast<std::int64_t>(*value);
  };
  const auto better = [&]() -> ordered_json {
    switch (row.verdict()) {
      case Verdict::none:
        return nullptr;
      case Verdict::same:
        return "same";
      case Verdict::better:
        return "job";
      case Verdict::worse:
        return "against";
    }
    return nullptr;
  };
  const Number ratio = row.ratio();
  return {{"job", number(row.job)},
          {"against", number(row.against)},
          {"ratio", ratio ? ordered_json(*ratio) : ordered_json(nullptr)},
          {"better", better()}};
}

ordered_json group_object(const Comparison& c, Group group) {
  ordered_json out = ordered_json::object();
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    if (timeline::group_of(static_cast<Bucket>(i)) != group) continue;
    out[c.buckets[i].name] = to_object(c.buckets[i]);
  }
  return out;
}

}  // namespace

std::optional<double> Compared::ratio() const {
  if (!job || !against || *against == 0) return std::nullopt;
  return *job / *against;
}

Verdict Compared::verdict() const {
  if (!job || !against || wanted == Wanted::nothing) return Verdict::none;
  const double less = std::min(*job, *against), more = std::max(*job, *against);
  if (more - less <= same_within * more) return Verdict::same;
  return (*job < *against) == (wanted == Wanted::less) ? Verdict::better : Verdict::worse;
}

Comparison compare(const Report& job, const Report& against) {
  Comparison out;
  out.job = job.job;
  out.against = against.job;
  out.numbers = numbers_of(job, against);
  for (std::size_t i = 0; i < timeline::kGroups; ++i) {
    const auto group = static_cast<Group>(i);
    out.groups[i] = time(timeline::group_name(group), group == Group::effective,
                         job.sums.group(group), against.sums.group(group));
  }
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    out.buckets[i] = time(timeline::bucket_name(bucket), bucket == Bucket::effective,
                          job.sums[bucket], against.sums[bucket]);
  }
  out.notes = differences(job, against);
  out.same_work = out.notes.empty();
  return out;
}

std::string to_json(const Comparison& c) {
  ordered_json numbers = ordered_json::object();
  for (const Compared& row : c.numbers) numbers[row.name] = to_object(row);
  ordered_json groups = ordered_json::object();
  for (const Compared& row : c.groups) groups[row.name] = to_object(row);
  const ordered_json out = {{"job", c.job},
                            {"against", c.against},
                            {"same_work", c.same_work},
                            {"numbers", std::move(numbers)},
                            {"l2", std::move(groups)},
                            {"l3", group_object(c, Group::launcher_init)},
                            {"compile", group_object(c, Group::compile)},
                            {"wasted", group_object(c, Group::wasted)},
                            {"shutdown", group_object(c, Group::shutdown)},
                            {"notes", c.notes}};
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace headway::metrics
