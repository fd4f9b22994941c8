#include "interchange/sacct_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/job_path.h"

namespace headway::interchange {
namespace {

using base::Result;
using base::Status;
using event::EventType;

constexpr std::int64_t kLaunchesPerAllocation = 65536;
constexpr std::int64_t kAllocationMax = kAttemptMax / kLaunchesPerAllocation - 1;

bool is_waiting(const SacctRow& row) {
  return row.state == "PENDING" || row.state == "REQUEUE_HOLD" || row.state == "REQUEUE_FED" ||
         row.state == "SPECIAL_EXIT";
}

bool is_alive(const SacctRow& row) {
  return row.state == "RUNNING" || row.state == "SUSPENDED" || row.state == "COMPLETING" ||
         row.state == "CONFIGURING" || row.state == "RESIZING" || row.state == "STOPPED" ||
         row.state == "SIGNALING" || row.state == "STAGE_OUT";
}

// The rows of one Headway job in the order of their lives.
struct Allocation {
  const SacctRow* row = nullptr;
  std::int64_t number = 0;
  std::int64_t first_attempt = 0;
  std::int64_t last_attempt = 0;
};

std::int64_t begin_of(const SacctRow& row) {
  if (row.start_ns) return *row.start_ns;
  if (row.submit_ns) return *row.submit_ns;
  return row.eligible_ns.value_or(INT64_MAX);
}

// sacct's Restarts is SLURM_RESTART_COUNT where every row states its own; else rows count up.
Status number(std::vector<Allocation>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Allocation& x, const Allocation& y) {
    return begin_of(*x.row) < begin_of(*y.row);
  });
  bool stated = true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& restarts = rows[i].row->restarts;
    stated = stated && restarts && rows[i].row->job_id == rows[0].row->job_id &&
             (i == 0 || *restarts > *rows[i - 1].row->restarts);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].number = stated ? *rows[i].row->restarts : static_cast<std::int64_t>(i);
    if (rows[i].number > kAllocationMax) return Status::invalid("too many restarts");
  }
  return {};
}

void join(std::vector<Allocation>& rows, const std::vector<std::int64_t>& known) {
  for (Allocation& a : rows) {
    a.first_attempt = a.last_attempt = a.number * kLaunchesPerAllocation + 1;
    bool found = false;
    for (const std::int64_t attempt : known) {
      if (attempt / kLaunchesPerAllocation != a.number) continue;
      a.first_attempt = found ? std::min(a.first_attempt, attempt) : attempt;
      a.last_attempt = found ? std::max(a.last_attempt, attempt) : attempt;
      found = true;
    }
    HW_CHECK(a.first_attempt <= a.last_attempt);
  }
}

class Writer {
 public:
  Writer(std::string_view job, std::string_view origin, StreamBuilder& builder)
      : origin_(origin), builder_(builder) {
    line_.job = job;
    line_.rank = event::kAgentRank;
    line_.has_time = true;
    line_.end.rank = HW_RANK_UNKNOWN;
  }

  void mark(std::int64_t attempt, std::int64_t t_ns, std::uint16_t mark) {
    Line line = line_;
    line.attempt = attempt;
    line.t_ns = t_ns;
    line.type = EventType::mark;
    line.code = mark;
    add(line);
  }

  void end(std::int64_t attempt, const SacctRow& row, std::uint16_t mark, std::string_view reason) {
    Line line = line_;
    line.attempt = attempt;
    line.t_ns = *row.end_ns;
    line.type = EventType::mark;
    line.code = mark;
    line.end.exit_code = row.exit_code;
    line.end.signal = row.signal;
    line.end.origin = origin_of_state(row);
    line.name = reason;
    add(line);
  }

  void attr(std::int64_t attempt, std::int64_t t_ns, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    Line line = line_;
    line.attempt = attempt;
    line.t_ns = t_ns;
    line.type = EventType::attr;
    line.name = key;
    line.value = cut_text(value, kTextBytesMax);
    add(line);
  }

  [[nodiscard]] Status status() const { return status_; }

 private:
  void add(const Line& line) {
    if (status_.ok()) status_ = builder_.add(line, origin_);
  }

  Line line_;
  std::string_view origin_;
  StreamBuilder& builder_;
  Status status_;
};

// Waiting counts from the moment the job could have run: a dependency or a hold is not the queue.
std::optional<std::int64_t> queued_from(const SacctRow& row) {
  if (!row.eligible_ns) return row.submit_ns;
  if (row.start_ns && *row.eligible_ns > *row.start_ns) return row.submit_ns;
  return row.submit_ns ? std::max(*row.submit_ns, *row.eligible_ns) : row.eligible_ns;
}

void write_end(Writer& out, const Allocation& a, bool is_last) {
  const SacctRow& row = *a.row;
  if (!row.end_ns || is_alive(row) || is_waiting(row)) return;
  std::string reason;
  if (origin_of_state(row) != HW_ORIGIN_NONE) {
    reason = "Slurm: " + row.state;
    if (!row.cancelled_by.empty()) reason += " by " + row.cancelled_by;
    if (!row.reason.empty() && row.reason != "None") reason += " (" + row.reason + ")";
    reason = cut_text(reason, kTextBytesMax);
    if (row.start_ns) out.end(a.last_attempt, row, HW_MARK_FAILURE, reason);
  }
  if (row.start_ns) out.end(a.last_attempt, row, HW_MARK_EXIT, reason);
  if (is_last && row.state != "REQUEUED") out.mark(a.last_attempt, *row.end_ns, HW_MARK_JOB_END);
}

void write(Writer& out, const Allocation& a, bool is_last) {
  const SacctRow& row = *a.row;
  if (const auto t = queued_from(row)) out.mark(a.first_attempt, *t, HW_MARK_SUBMITTED);
  if (row.start_ns) {
    out.mark(a.first_attempt, *row.start_ns, HW_MARK_RESOURCES_AVAILABLE);
    out.mark(a.first_attempt, *row.start_ns, HW_MARK_ALLOCATED);
    out.attr(a.first_attempt, *row.start_ns, "slurm_job_id", row.job_id);
    out.attr(a.first_attempt, *row.start_ns, "slurm_job_name", row.job_name);
    out.attr(a.first_attempt, *row.start_ns, "slurm_nodes", row.node_list);
  }
  write_end(out, a, is_last);
}

}  // namespace

int origin_of_state(const SacctRow& row) {
  const std::string& s = row.state;
  if (s == "PREEMPTED") return HW_ORIGIN_PREEMPTION;
  if (s == "NODE_FAIL" || s == "BOOT_FAIL" || s == "LAUNCH_FAILED" || s == "RECONFIG_FAIL") {
    return HW_ORIGIN_INFRA;
  }
  // The limit and the memory were the user's own request.
  if (s == "TIMEOUT" || s == "DEADLINE" || s == "OUT_OF_MEMORY") return HW_ORIGIN_USER;
  // uid 0 is Slurm itself or an operator, who does not say why.
  if (s == "CANCELLED") return row.cancelled_by == "0" ? HW_ORIGIN_UNKNOWN : HW_ORIGIN_USER;
  if (s == "COMPLETED" || is_alive(row) || is_waiting(row)) return HW_ORIGIN_NONE;
  return HW_ORIGIN_UNKNOWN;  // FAILED, REQUEUED, REVOKED and what is not known here
}

Result<SacctTaken> add_sacct(const SacctTable& table, const SacctMapping& mapping,
                             std::string_view origin, StreamBuilder& builder) {
  std::map<std::string, std::vector<Allocation>> jobs;
  for (const SacctRow& row : table.rows) {
    const auto& ids = mapping.slurm_job_ids;
    if (!ids.empty() && std::find(ids.begin(), ids.end(), row.job_id) == ids.end()) continue;
    jobs[mapping.job.empty() ? base::sanitize_job_name("slurm-" + row.job_id) : mapping.job]
        .push_back({.row = &row});
  }
  if (jobs.empty()) {
    return Status::not_found(
        mapping.slurm_job_ids.empty()
            ? std::string("no allocation in it")
            : fmt::format("no job {} in it", fmt::join(mapping.slurm_job_ids, ", ")));
  }
  SacctTaken taken;
  for (auto& [name, rows] : jobs) {
    if (Status status = number(rows); !status.ok()) return status;
    join(rows, mapping.known_attempts);
    Writer out(name, origin, builder);
    for (const Allocation& a : rows) {
      write(out, a, &a == &rows.back());
      ++(a.row->start_ns ? taken.allocations : taken.pending);
    }
    if (!out.status().ok()) return out.status();
  }
  return taken;
}

}  // namespace headway::interchange
