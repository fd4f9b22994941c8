#include "interchange/export_openmetrics.h"

#include <string>
#include <string_view>
#include <utility>

#include "interchange/export_families.h"

namespace headway::interchange {
namespace {

class Text {
 public:
  explicit Text(std::string_view job) : job_(job) {}

  void family(std::string_view name, FamilyType type, std::string_view unit,
              std::string_view help) {
    families_.begin(std::string(name), type, unit, help);
  }
  void seconds(Labels labels, std::int64_t ns) { add(std::move(labels), Seconds{ns}); }
  void count(Labels labels, std::uint64_t value) { add(std::move(labels), value); }
  void ratio(Labels labels, double percent) { add(std::move(labels), percent / 100.0); }
  std::string take() { return to_text(families_.all(), TextFormat::openmetrics); }

 private:
  template <typename T>
  void add(Labels labels, T value) {
    labels.insert(labels.begin(), {"job", job_});
    families_.add(std::move(labels), value);
  }

  const std::string job_;
  Families families_;
};

void write_times(Text& out, const metrics::Report& r) {
  out.family(
      "headway_job_time_seconds", FamilyType::counter, "seconds",
      "Wall time of the job by bucket of the partition; the buckets add up to the wall time.");
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<timeline::Bucket>(i);
    out.seconds({{"group", std::string(timeline::group_name(timeline::group_of(bucket)))},
                 {"bucket", std::string(timeline::bucket_name(bucket))}},
                r.sums[bucket]);
  }
  out.family("headway_job_wall_seconds", FamilyType::counter, "seconds",
             "From the first resources to the job's end, or to now.");
  out.seconds({}, r.wall_ns);
  out.family("headway_job_queued_seconds", FamilyType::counter, "seconds",
             "Waiting for resources; beside the wall time, not in it.");
  out.seconds({}, r.queued_ns);
  out.family("headway_job_failure_seconds", FamilyType::counter, "seconds",
             "Wall time that failures cost, in whichever bucket it lies.");
  out.seconds({}, r.failure_ns);
  out.family("headway_job_unsaved_seconds", FamilyType::counter, "seconds",
             "Finished steps that the next attempt could not restore.");
  out.seconds({}, r.unsaved_ns);
}

void write_counts(Text& out, const metrics::Report& r) {
  out.family(
      "headway_job_failures", FamilyType::counter, "",
      "Ends of attempts: interruptions by the infrastructure, errors of the user's, preemptions.");
  out.count({{"kind", "failure"}}, r.failures);
  out.count({{"kind", "user_error"}}, r.user_errors);
  out.count({{"kind", "preemption"}}, r.preemptions);
  out.family("headway_job_attempts", FamilyType::counter, "", "Attempts that left events.");
  out.count({}, r.attempts.size());
  out.family("headway_job_steps", FamilyType::counter, "",
             "Finished steps, replayed ones among them.");
  out.count({}, r.steps);
  out.family("headway_job_replayed_steps", FamilyType::counter, "",
             "Steps on data that was seen before.");
  out.count({}, r.replayed_steps);
  out.family("headway_job_checkpoints", FamilyType::counter, "", "Checkpoints saved.");
  out.count({}, r.saves);
  out.family("headway_job_failed_checkpoints", FamilyType::counter, "",
             "Of them, not beyond memory.");
  out.count({}, r.failed_saves);
  out.family("headway_job_dropped_records", FamilyType::counter, "", "Records that found no room.");
  out.count({}, r.coverage.dropped_records);
}

void write_gauges(Text& out, const metrics::Report& r) {
  out.family("headway_job_share_ratio", FamilyType::gauge, "ratio",
             "Shares of the wall time: effective training, idleness, failures; they add up to 1.");
  out.ratio({{"of", "effective"}}, r.ett_pct);
  out.ratio({{"of", "idleness"}}, r.idleness_pct);
  out.ratio({{"of", "failure"}}, r.failure_pct);
  if (r.time_to_start_ns) {
    out.family("headway_job_time_to_start_seconds", FamilyType::gauge, "seconds",
               "From the allocation to the first trained batch.");
    out.seconds({}, *r.time_to_start_ns);
  }
  if (!r.time_to_recover_ns.empty()) {
    out.family("headway_job_time_to_recover_seconds", FamilyType::gauge, "seconds",
               "The last failure to productive again.");
    out.seconds({}, r.time_to_recover_ns.back());
  }
  out.family("headway_job_running", FamilyType::gauge, "", "1 while the job runs.");
  out.count({}, r.running ? 1 : 0);
  out.family("headway_job_ranks", FamilyType::gauge, "",
             "Ranks that report and ranks that should.");
  out.count({{"state", "reporting"}}, r.coverage.ranks_reporting);
  out.count({{"state", "expected"}}, r.coverage.ranks_expected);
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
