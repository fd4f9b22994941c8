#include "agent/warm_start.h"

#include <fmt/format.h>

#include <filesystem>

#include "agent/environment.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/job_path.h"

namespace headway::agent {
namespace {

constexpr std::size_t kRoomBytes = 4096;

// One file a script and interpreter, with a name that a person recognises.
std::string memory_name(const RunOptions& options, const std::string& python) {
  std::error_code error;
  const std::string& script = options.command.front();
  const std::string place = options.kind == CommandKind::script
                                ? std::filesystem::absolute(script, error).string()
                                : std::filesystem::current_path(error).string() + ":" + script;
  const std::string key = place + '\n' + python;
  return fmt::format("{}-{:08x}.json",
                     base::sanitize_job_name(std::filesystem::path(script).stem().string()),
                     base::crc32c(key.data(), key.size()));
}

}  // namespace

WarmStart::WarmStart(const RunOptions& options, bool own_groups, const Signals& signals,
                     Sweep& sweep)
    : options_(options), own_groups_(own_groups), signals_(signals), sweep_(sweep) {}

// One rank that is never started again would gain nothing; one that shares our terminal has to be
// its foreground job, which a process of another parent cannot become.
bool WarmStart::wanted() const {
  return !options_.cold && own_groups_ && options_.kind != CommandKind::program &&
         (options_.nproc > 1 || options_.restarts.count > 0);
}

void WarmStart::prepare(const SpawnPlan& rank, const std::string& root) {
  if (!wanted() || server_.alive()) return;
  if (!probed_) {
    probed_ = true;
    hooked_ = honours_hook(rank, signals_);
    const std::string folder = root + "/.warm";
    if (base::make_dirs(folder).ok()) {
      memory_path_ = folder + '/' + memory_name(options_, rank.argv.front());
    }
  }
  if (!hooked_) {
    reason_ = "this Python does not load sitecustomize from PYTHONPATH";
    return;
  }
  start_again(rank);
}

void WarmStart::start_again(const SpawnPlan& rank) {
  sweep_.unspare(spared_);
  spared_ = 0;
  if (starts_ == starts_max) {
    reason_ = fmt::format("the fork server has ended {} times", starts_);
    return;
  }
  ++starts_;
  SpawnPlan plan = rank;
  plan.environment = without_identity(std::move(plan.environment));
  plan.capture_output = false;
  if (!memory_path_.empty()) plan.environment.insert_or_assign("HEADWAY_WARM_FILE", memory_path_);
  // Room for a rank's variables where /proc shows them (python/headway/_warm/become.py).
  plan.environment.insert_or_assign("HEADWAY_WARM_ROOM", std::string(kRoomBytes, '.'));
  plan.environment.insert_or_assign("HEADWAY_WARM_IDENTITY", identity_names());
  std::string names;
  for (const std::string& name : options_.preload) names += (names.empty() ? "" : ",") + name;
  if (!names.empty()) plan.environment.insert_or_assign("HEADWAY_WARM_PRELOAD", names);
  const base::Status status = server_.start(std::move(plan), signals_);
  if (!status.ok()) {
    reason_ = status.message();
    return;
  }
  reason_.clear();
  spared_ = server_.pid();
  sweep_.spare(spared_);
}

}  // namespace headway::agent
