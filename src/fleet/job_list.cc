#include "fleet/job_list.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "fleet/scan.h"

namespace headway::fleet {
namespace {

constexpr std::array<std::string_view, 4> kStateNames = {"running", "finished", "failed",
                                                         "unended"};

struct Found {
  std::int64_t begin_ns;
  std::string_view name;
  const Chunk* chunk;
  const Chunk::Job* job;
};

bool comes_before(const Found& a, const Found& b) {
  return std::tuple(b.begin_ns, a.name) < std::tuple(a.begin_ns, b.name);
}

JobState state_of(const Chunk& chunk, std::uint32_t last, const JobQuestion& question) {
  switch (chunk.ending[last]) {
    case Ending::clean:
      return JobState::finished;
    case Ending::failed:
      return JobState::failed;
    case Ending::running:
      break;
  }
  return question.now_ns - chunk.end_ns[last] < question.silent_ns ? JobState::running
                                                                   : JobState::unended;
}

ListedJob listed(const Snapshot& snapshot, const Found& found, const JobQuestion& question) {
  const Chunk& chunk = *found.chunk;
  const std::uint32_t first = found.job->first, last = first + found.job->count - 1;
  ListedJob out;
  out.job = found.name;
  out.state = state_of(chunk, last, question);
  out.begin_ns = found.begin_ns;
  out.end_ns = chunk.end_ns[last];
  for (std::size_t i = 0; i < kDimensions; ++i) {
    out.dimensions[i] = snapshot.values(static_cast<Dimension>(i))[chunk.dimensions[i][last]];
  }
  out.devices = chunk.devices[last];
  out.attempts = found.job->count;
  for (std::uint32_t i = chunk.first_slice[first]; i < chunk.first_slice[last + 1]; ++i) {
    out.wall_ns += chunk.wall_ns[i];
    out.effective_ns += chunk.effective_ns[i];
  }
  for (std::uint32_t at = first; at <= last; ++at) {
    const std::uint32_t row = chunk.failure[at];
    if (row == Chunk::kNone) continue;
    const Origin origin = chunk.failures[row].origin;
    out.failures += origin == Origin::infra || origin == Origin::unknown;
  }
  return out;
}

}  // namespace

std::string_view job_state_name(JobState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

std::optional<JobState> job_state_of(std::string_view name) {
  const auto found = std::ranges::find(kStateNames, name);
  if (found == kStateNames.end()) return std::nullopt;
  return static_cast<JobState>(found - kStateNames.begin());
}

JobList list_jobs(const Snapshot& snapshot, const JobQuestion& question) {
  const Filter filter(
      snapshot, {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max(),
                 question.where, Weight::device});
  std::vector<Found> all;
  each_job(snapshot, filter, [&](const Chunk& chunk, const Chunk::Job& job) {
    const std::uint32_t last = job.first + job.count - 1;
    if (!filter.has_attempt(chunk, last)) return;
    const std::string_view name = snapshot.jobs()[job.id];
    if (!question.text.empty() && name.find(question.text) == std::string_view::npos) return;
    if (question.state && state_of(chunk, last, question) != *question.state) return;
    const Found found{chunk.begin_ns[job.first], name, &chunk, &job};
    if (question.behind) {
      const Found behind{question.behind->begin_ns, question.behind->job, nullptr, nullptr};
      if (!comes_before(behind, found)) return;
    }
    all.push_back(found);
  });
  const std::size_t limit = std::clamp(question.limit, 1u, JobQuestion::limit_max);
  JobList out;
  out.more = all.size() > limit;
  const std::size_t count = std::min(all.size(), limit);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    comes_before);
  for (std::size_t i = 0; i < count; ++i) out.jobs.push_back(listed(snapshot, all[i], question));
  return out;
}

}  // namespace headway::fleet
