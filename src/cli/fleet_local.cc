#include "cli/fleet_local.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>

#include "base/clock.h"
#include "base/file.h"
#include "base/job_path.h"
#include "base/parallel.h"
#include "cli/fleet_job.h"
#include "cli/progress.h"
#include "fleet/selection.h"

namespace headway::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;
using base::Status;
using fleet::AttemptFacts;

constexpr std::size_t kJobsMax = 10'000'000;
constexpr int kDepthMax = 8;
constexpr std::size_t kFilesMax = 1 << 18;  // of a job
constexpr std::string_view kEndings[] = {".hwj", ".jsonl"};

struct Folder {
  std::string path;
  std::uint64_t bytes = 0;
  std::size_t files = 0;
};

Folder measure(const std::string& path) {
  Folder folder{path, 0, 0};
  for (const std::string_view ending : kEndings) {
    const auto files = base::list_files(path, ending, kDepthMax, kFilesMax);
    if (!files.ok()) {
      ++folder.files;  // who reads it will be told why not
      continue;
    }
    for (const std::string& file : files.value()) {
      std::error_code ignored;
      const std::uintmax_t bytes = fs::file_size(file, ignored);
      if (!ignored) folder.bytes += bytes;
      ++folder.files;
    }
  }
  return folder;
}

Result<std::vector<Folder>> list_jobs(const std::string& root) {
  std::vector<Folder> out;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!base::is_job_name(it->path().filename().string()) || !it->is_directory(ignored)) continue;
    if (out.size() == kJobsMax)
      return Status::invalid(root + ": too many jobs; give a part of them");
    Folder folder = measure(it->path().string());
    if (folder.files > 0) out.push_back(std::move(folder));
  }
  if (error) return base::errno_status(root, "read", error.value());
  if (out.empty()) return Status::not_found(root + ": holds no folders of jobs with journals");
  // A huge job that is begun last would be waited for alone.
  std::ranges::sort(out, [](const Folder& x, const Folder& y) {
    return x.bytes != y.bytes ? x.bytes > y.bytes : x.path < y.path;
  });
  return out;
}

// What one folder adds to the whole.
struct Share {
  std::string job;
  std::map<std::string, FleetGroup, std::less<>> groups;
  std::int32_t first_day = INT32_MAX, last_day = INT32_MIN;
  std::uint64_t attempts = 0;
  std::vector<FolderNote> notes;
};

void add_attempt(const AttemptFacts& facts, fleet::Dimension by, Share& share) {
  FleetGroup& group = share.groups[facts.dimensions[static_cast<std::size_t>(by)]];
  group.jobs = 1;
  ++group.attempts;
  ++share.attempts;
  for (const fleet::Slice& slice : facts.slices) {
    for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
      group.device_ns[i] += base::Int128{slice.sums.ns[i]} * facts.devices;
    }
    group.failure_device_ns += base::Int128{slice.failure_ns} * facts.devices;
    share.first_day = std::min(share.first_day, slice.day);
    share.last_day = std::max(share.last_day, slice.day);
  }
  if (!facts.failure) return;
  const fleet::Origin origin = facts.failure->origin;
  group.failures += origin == fleet::Origin::infra || origin == fleet::Origin::unknown;
}

Share share_of_folder(const std::string& path, fleet::Dimension by) {
  Share share;
  auto found = facts_of_folder(path);
  if (!found.ok()) {
    std::string reason = found.status().message();
    if (reason.starts_with(path + ": ")) reason.erase(0, path.size() + 2);
    share.notes.push_back({FolderNote::Lost::job, path, std::move(reason)});
    return share;
  }
  share.job = std::move(found->job);
  share.notes = std::move(found->notes);
  for (const AttemptFacts& facts : found->attempts) add_attempt(facts, by, share);
  if (found->attempts.empty()) {
    share.notes.push_back({FolderNote::Lost::job, path, "there are no attempts in it"});
  }
  return share;
}

std::string name_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// A job in two folders counts once: that of its name, else the first.
void drop_copies(const std::vector<Folder>& folders, std::vector<Share>& shares) {
  std::map<std::string, std::size_t> chosen;
  const auto better = [&](std::size_t x, std::size_t y) {
    const bool moved_x = name_of(folders[x].path) != shares[x].job;
    const bool moved_y = name_of(folders[y].path) != shares[y].job;
    return moved_x != moved_y ? !moved_x : folders[x].path < folders[y].path;
  };
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].attempts == 0) continue;
    const auto [at, fresh] = chosen.try_emplace(shares[i].job, i);
    if (!fresh && better(i, at->second)) at->second = i;
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].attempts == 0 || chosen.at(shares[i].job) == i) continue;
    const std::string& kept = folders[chosen.at(shares[i].job)].path;
    Share copy;
    copy.job = shares[i].job;
    copy.notes = std::move(shares[i].notes);
    copy.notes.push_back({FolderNote::Lost::job, folders[i].path, "the same job is in " + kept});
    shares[i] = std::move(copy);
  }
}

void add_notes(const std::vector<Folder>& folders, const std::vector<Share>& shares,
               FleetSummary& summary) {
  using Lost = FolderNote::Lost;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (const FolderNote& note : shares[i].notes) {
      (note.lost == Lost::job    ? summary.jobs_lost
       : note.lost == Lost::file ? summary.files_lost
                                 : summary.files_damaged)++;
      const std::string job = shares[i].job.empty() ? name_of(folders[i].path) : shares[i].job;
      summary.notes.push_back({job, std::string(lost_name(note.lost)), note.file, note.reason});
    }
  }
  std::ranges::sort(summary.notes, [](const FleetNote& x, const FleetNote& y) {
    return std::tie(x.lost, x.job, x.file) < std::tie(y.lost, y.job, y.file);
  });
  if (summary.notes.size() > FleetSummary::notes_max) summary.notes.resize(FleetSummary::notes_max);
}

void add_up(const std::vector<Share>& shares, FleetSummary& summary) {
  std::map<std::string, FleetGroup, std::less<>> groups;
  std::int32_t first_day = INT32_MAX, last_day = INT32_MIN;
  for (const Share& share : shares) {
    if (share.attempts == 0) continue;
    ++summary.jobs;
    summary.attempts += share.attempts;
    first_day = std::min(first_day, share.first_day);
    last_day = std::max(last_day, share.last_day);
    for (const auto& [key, part] : share.groups) {
      FleetGroup& group = groups[key];
      group.jobs += part.jobs;
      group.attempts += part.attempts;
      group.failures += part.failures;
      group.failure_device_ns += part.failure_device_ns;
      for (std::size_t i = 0; i < timeline::kBuckets; ++i) group.device_ns[i] += part.device_ns[i];
    }
  }
  if (summary.jobs > 0) {
    summary.first_day = fleet::day_text(first_day);
    summary.last_day = fleet::day_text(last_day);
  }
  for (auto& [key, group] : groups) {
    group.key = key;
    summary.groups.push_back(std::move(group));
  }
}

}  // namespace

Result<FleetSummary> attribute_fleet(const std::string& journals, fleet::Dimension by,
                                     std::size_t threads) {
  const std::int64_t began_ns = base::monotonic_ns();
  auto folders = list_jobs(journals);
  if (!folders.ok()) return folders.status();
  FleetSummary summary;
  summary.journals = journals;
  summary.by = fleet::dimension_name(by);
  summary.tasks = folders->size();
  for (const Folder& folder : *folders) summary.bytes += folder.bytes;
  const std::int64_t listed_ns = base::monotonic_ns();

  std::vector<Share> shares(folders->size());
  ProgressBar bar("attribute", summary.bytes);
  std::mutex bar_mutex;
  std::atomic<bool> stop = false;
  const Status done =
      base::in_parallel(folders->size(), threads, stop, [&](std::size_t, std::size_t i) -> Status {
        shares[i] = share_of_folder((*folders)[i].path, by);
        const std::lock_guard lock(bar_mutex);
        bar.add((*folders)[i].bytes);
        return {};
      });
  if (!done.ok()) return done;
  bar.clear();
  drop_copies(*folders, shares);
  add_notes(*folders, shares, summary);
  add_up(shares, summary);
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) / 1e9; };
  summary.timings_s["list"] = seconds(listed_ns - began_ns);
  summary.timings_s["attribute"] = seconds(base::monotonic_ns() - listed_ns);
  return summary;
}

}  // namespace headway::cli
