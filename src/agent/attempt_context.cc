#include "agent/attempt_context.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

// A scheduler's time on our monotonic clock; never later than we ourselves began. Before the
// machine's boot it is negative, which a journal can hold.
std::int64_t on_monotonic_ns(std::int64_t time_s, std::int64_t began_monotonic_ns) {
  const std::int64_t ago_ns = base::real_ns() - time_s * 1'000'000'000;
  return std::min(base::monotonic_ns() - ago_ns, began_monotonic_ns);
}

// A word with spaces is quoted: where it ends must be seen, or half of it could be taken for the
// whole secret.
std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"") == std::string::npos;
    const char* quote = plain ? "" : word.find('\'') == std::string::npos ? "'" : "\"";
    text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", quote, word, quote);
  }
  return text;
}

// What of Headway is switched on, for whoever compares attempts with and without it. What a run is
// asked for counts, not what came of it: a cache that had nothing is what it was worth.
void write_levers(AgentJournal& journal, const RunOptions& options) {
  const char* variable = std::getenv("HEADWAY_CACHE");
  const std::string cache = !options.cache.empty() ? options.cache : variable ? variable : "";
  const bool shared = !cache.empty() && cache != "off" && cache != "local";
  if (shared) journal.attr("lever.compile_cache", "1");
  if (!options.cold && options.has_ranks()) journal.attr("lever.fork_server", "1");
  if (options.auto_dynamic) journal.attr("lever.auto_dynamic", "1");
  if (!options.autotune_pins.empty()) journal.attr("lever.autotune_pins", "1");
}

// What Slurm knows of a job, under the names that a fleet is grouped by. What was asked for with
// --attr comes later, and counts.
void write_slurm_groups(AgentJournal& journal) {
  for (const auto& [key, name] : {std::pair("cluster", "SLURM_CLUSTER_NAME"),
                                  {"team", "SLURM_JOB_ACCOUNT"},
                                  {"priority", "SLURM_JOB_QOS"}}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') journal.attr(key, value);
  }
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
  if (slurm) {
    journal.attr("slurm_job_id", slurm->job_id);
    if (!slurm->job_name.empty()) journal.attr("slurm_job_name", slurm->job_name);
    if (!slurm->nodes.empty()) journal.attr("slurm_nodes", slurm->nodes);
    write_slurm_groups(journal);
  }
  write_levers(journal, options);
  for (const auto& [key, value] : options.attrs) journal.attr(key, value);

  if (id.launch == 1) {
    // Without a scheduler nothing waits: what lies before belongs to whoever had not started it.
    if (!slurm) journal.mark_at_monotonic(HW_MARK_SUBMITTED, began_monotonic_ns);
    if (!slurm) journal.mark_at_monotonic(HW_MARK_RESOURCES_AVAILABLE, began_monotonic_ns);
    if (slurm) write_allocation(journal, *slurm, began_monotonic_ns);
    if (!slurm || slurm->start_time_s <= 0) {
      journal.mark_at_monotonic(HW_MARK_ALLOCATED, began_monotonic_ns);
    }
  }
  journal.mark_at_monotonic(HW_MARK_LAUNCHER_START, began_monotonic_ns);
}

void write_allocation(AgentJournal& journal, const SlurmInfo& slurm,
                      std::int64_t began_monotonic_ns) {
  if (slurm.submit_time_s > 0) {
    journal.mark_at_monotonic(HW_MARK_SUBMITTED,
                              on_monotonic_ns(slurm.submit_time_s, began_monotonic_ns));
  }
  if (slurm.start_time_s <= 0) return;
  const std::int64_t start_ns = on_monotonic_ns(slurm.start_time_s, began_monotonic_ns);
  // On Slurm the two are one: it tells of resources when it gives them.
  journal.mark_at_monotonic(HW_MARK_RESOURCES_AVAILABLE, start_ns);
  journal.mark_at_monotonic(HW_MARK_ALLOCATED, start_ns);
}

}  // namespace headway::agent
