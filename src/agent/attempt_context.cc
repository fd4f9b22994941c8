#include "agent/attempt_context.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

// A scheduler's start time on our monotonic clock; never later than we ourselves began.
std::int64_t start_monotonic_ns(const SlurmInfo& slurm, std::int64_t began_monotonic_ns) {
  const std::int64_t ago_ns = base::real_ns() - slurm.start_time_s * 1'000'000'000;
  return std::min(base::monotonic_ns() - ago_ns, began_monotonic_ns);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

void write_opening(AgentJournal& journal, const RunOptions& options,
                   const std::optional<SlurmInfo>& slurm, AttemptId id,
                   std::int64_t began_monotonic_ns) {
  char host[256] = {};
  if (::gethostname(host, sizeof(host) - 1) == 0) journal.attr("host", host);
  journal.attr("argv", joined(options.command));
  if (options.kind != CommandKind::program) journal.attr("script", options.command.front());
  journal.attr("nproc", fmt::to_string(options.nproc));
  journal.attr("headway", options.version);
  if (slurm) journal.attr("slurm_job_id", slurm->job_id);
  for (const auto& [key, value] : options.attrs) journal.attr(key, value);

  if (id.launch == 1) {
    const bool told = slurm && slurm->start_time_s > 0;
    const std::int64_t allocated_ns =
        told ? start_monotonic_ns(*slurm, began_monotonic_ns) : began_monotonic_ns;
    // Without a scheduler nothing waits: what lies before belongs to whoever had not started it.
    if (!slurm) journal.mark_at_monotonic(HW_MARK_SUBMITTED, allocated_ns);
    if (told || !slurm) journal.mark_at_monotonic(HW_MARK_RESOURCES_AVAILABLE, allocated_ns);
    journal.mark_at_monotonic(HW_MARK_ALLOCATED, allocated_ns);
  }
  journal.mark_at_monotonic(HW_MARK_LAUNCHER_START, began_monotonic_ns);
}

}  // namespace headway::agent
