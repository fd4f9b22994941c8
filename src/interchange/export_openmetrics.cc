#include "interchange/export_openmetrics.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "interchange/decimal_time.h"

namespace headway::interchange {
namespace {

class Text {
 public:
  explicit Text(std::string_view job) {
    for (const char c : job) {
      if (c == '\\' || c == '"') job_ += '\\';
      if (c == '\n') {
        job_ += "\\n";
      } else {
        job_ += c;
      }
    }
  }

  void family(std::string_view name, std::string_view type, std::string_view unit,
              std::string_view help) {
    fmt::format_to(std::back_inserter(out_), "# TYPE {} {}\n", name, type);
    if (!unit.empty()) fmt::format_to(std::back_inserter(out_), "# UNIT {} {}\n", name, unit);
    fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n", name, help);
  }

  // `labels` begins with a comma, or is empty.
  void seconds(std::string_view sample, std::string_view labels, std::int64_t ns) {
    head(sample, labels);
    append_seconds(out_, ns);
    out_ += '\n';
  }

  void count(std::string_view sample, std::string_view labels, std::uint64_t value) {
    head(sample, labels);
    out_ += std::to_string(value);
    out_ += '\n';
  }

  void ratio(std::string_view sample, std::string_view labels, double percent) {
    head(sample, labels);
    fmt::format_to(std::back_inserter(out_), "{}\n", percent / 100.0);
  }

  std::string take() {
    out_ += "# EOF\n";
    return std::move(out_);
  }

 private:
  void head(std::string_view sample, std::string_view labels) {
    fmt::format_to(std::back_inserter(out_), "{}{{job=\"{}\"{}}} ", sample, job_, labels);
  }

  std::string job_;
  std::string out_;
};

void write_times(Text& out, const metrics::Report& r) {
  out.family(
      "headway_job_time_seconds", "counter", "seconds",
      "Wall time of the job by bucket of the partition; the buckets add up to the wall time.");
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<timeline::Bucket>(i);
    out.seconds(
        "headway_job_time_seconds_total",
        fmt::format(",group=\"{}\",bucket=\"{}\"", timeline::group_name(timeline::group_of(bucket)),
                    timeline::bucket_name(bucket)),
        r.sums[bucket]);
  }
  out.family("headway_job_wall_seconds", "counter", "seconds",
             "From the first resources to the job's end, or to now.");
  out.seconds("headway_job_wall_seconds_total", "", r.wall_ns);
  out.family("headway_job_queued_seconds", "counter", "seconds",
             "Waiting for resources; beside the wall time, not in it.");
  out.seconds("headway_job_queued_seconds_total", "", r.queued_ns);
  out.family("headway_job_failure_seconds", "counter", "seconds",
             "Wall time that failures cost, in whichever bucket it lies.");
  out.seconds("headway_job_failure_seconds_total", "", r.failure_ns);
  out.family("headway_job_unsaved_seconds", "counter", "seconds",
             "Finished steps that the next attempt could not restore.");
  out.seconds("headway_job_unsaved_seconds_total", "", r.unsaved_ns);
}

void write_counts(Text& out, const metrics::Report& r) {
  out.family(
      "headway_job_failures", "counter", "",
      "Ends of attempts: interruptions by the infrastructure, errors of the user's, preemptions.");
  out.count("headway_job_failures_total", ",kind=\"failure\"", r.failures);
  out.count("headway_job_failures_total", ",kind=\"user_error\"", r.user_errors);
  out.count("headway_job_failures_total", ",kind=\"preemption\"", r.preemptions);
  out.family("headway_job_attempts", "counter", "", "Attempts that left events.");
  out.count("headway_job_attempts_total", "", r.attempts.size());
  out.family("headway_job_steps", "counter", "", "Finished steps, replayed ones among them.");
  out.count("headway_job_steps_total", "", r.steps);
  out.family("headway_job_replayed_steps", "counter", "", "Steps on data that was seen before.");
  out.count("headway_job_replayed_steps_total", "", r.replayed_steps);
  out.family("headway_job_checkpoints", "counter", "", "Checkpoints saved.");
  out.count("headway_job_checkpoints_total", "", r.saves);
  out.family("headway_job_failed_checkpoints", "counter", "", "Of them, not beyond memory.");
  out.count("headway_job_failed_checkpoints_total", "", r.failed_saves);
  out.family("headway_job_dropped_records", "counter", "", "Records that found no room.");
  out.count("headway_job_dropped_records_total", "", r.coverage.dropped_records);
}

void write_gauges(Text& out, const metrics::Report& r) {
  out.family("headway_job_share_ratio", "gauge", "ratio",
             "Shares of the wall time: effective training, idleness, failures; they add up to 1.");
  out.ratio("headway_job_share_ratio", ",of=\"effective\"", r.ett_pct);
  out.ratio("headway_job_share_ratio", ",of=\"idleness\"", r.idleness_pct);
  out.ratio("headway_job_share_ratio", ",of=\"failure\"", r.failure_pct);
  if (r.time_to_start_ns) {
    out.family("headway_job_time_to_start_seconds", "gauge", "seconds",
               "From the allocation to the first trained batch.");
    out.seconds("headway_job_time_to_start_seconds", "", *r.time_to_start_ns);
  }
  if (!r.time_to_recover_ns.empty()) {
    out.family("headway_job_time_to_recover_seconds", "gauge", "seconds",
               "The last failure to productive again.");
    out.seconds("headway_job_time_to_recover_seconds", "", r.time_to_recover_ns.back());
  }
  out.family("headway_job_running", "gauge", "", "1 while the job runs.");
  out.count("headway_job_running", "", r.running ? 1 : 0);
  out.family("headway_job_ranks", "gauge", "", "Ranks that report and ranks that should.");
  out.count("headway_job_ranks", ",state=\"reporting\"", r.coverage.ranks_reporting);
  out.count("headway_job_ranks", ",state=\"expected\"", r.coverage.ranks_expected);
}

}  // namespace

std::string to_openmetrics(const metrics::Report& report) {
  Text out(report.job);
  write_times(out, report);
  write_counts(out, report);
  write_gauges(out, report);
  return out.take();
}

}  // namespace headway::interchange
