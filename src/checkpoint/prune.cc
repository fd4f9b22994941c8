#include "checkpoint/prune.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace headway::checkpoint {
namespace {

using base::FileSystem;
using base::Result;
using base::Status;

constexpr std::uint64_t kLatestBytesMax = 256;

Candidate candidate_of(const Look& look) {
  using State = Candidate::State;
  Candidate each;
  each.time_ns = look.manifest.time_ns;
  each.anchor = look.anchor;
  each.is_link = look.is_link;
  each.is_delta = !look.manifest.base.empty();
  if (look.unfinished) {
    each.state = State::lost;
  } else if (!look.state.ok()) {
    const base::Code code = look.state.code();
    each.state = code == base::Code::corrupt ? State::damaged : State::unreadable;
  }
  return each;
}

std::vector<Fate> fates_of(const RetentionPolicy& policy, const std::vector<Look>& looks) {
  std::vector<Candidate> candidates;
  std::map<std::string, std::size_t> index;
  for (const Look& look : looks) {
    index[look.name.text()] = candidates.size();
    candidates.push_back(candidate_of(look));
  }
  for (std::size_t i = 0; i < looks.size(); ++i) {
    const auto base = index.find(looks[i].manifest.base);
    if (base != index.end()) candidates[i].base = base->second;
  }
  return decide_fates(policy, candidates);
}

// Scripts go by LATEST: it names the newest good one, whatever it named before, or whether it was
// there. `must`: it names what is about to go, so nothing may go before it does not.
Status mend_latest(FileSystem& files, const std::string& folder, const PrunePlan& plan,
                   bool& must) {
  must = false;
  const auto newest = std::find(plan.fates.begin(), plan.fates.end(), Fate::newest);
  if (newest == plan.fates.end()) return {};
  const auto line_of = [&](std::size_t i) { return plan.looks[i].name.text() + "\n"; };
  const std::string wanted = line_of(static_cast<std::size_t>(newest - plan.fates.begin()));
  const std::string path = folder + "/" + std::string(latest_name);
  const auto text = base::read_all(files, path, kLatestBytesMax);
  if (text.ok() && text.value() == wanted) return {};
  const base::Code code = text.status().code();
  must = !text.ok() && code != base::Code::not_found && code != base::Code::corrupt;
  for (std::size_t i = 0; text.ok() && i < plan.looks.size(); ++i) {
    must |= is_removed(plan.fates[i]) && line_of(i) == text.value();
  }
  return base::replace_file(files, path, base::bytes_of(wanted));
}

}  // namespace

std::uint64_t PrunePlan::bytes_removed() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (is_removed(fates[i])) bytes += looks[i].bytes;
  }
  return bytes;
}

Result<PrunePlan> plan_prune(FileSystem& files, const std::string& folder,
                             const RetentionPolicy& policy,
                             const std::vector<std::string>& damaged) {
  auto looks = look_at_all(files, folder);
  if (!looks.ok()) return looks.status();
  for (Look& look : *looks) {
    const bool known = std::find(damaged.begin(), damaged.end(), look.path) != damaged.end();
    if (known && look.state.ok()) {
      look.state = Status::corrupt(look.path + ": damaged, as a restore that read it has found");
    }
  }
  auto fates = fates_of(policy, *looks);
  return PrunePlan{std::move(*looks), std::move(fates)};
}

Result<PrunePlan> plan_checked_prune(FileSystem& files, const std::string& folder,
                                     const RetentionPolicy& policy, const DeepCheck& deep,
                                     bool all) {
  auto looks = look_at_all(files, folder, all ? deep : DeepCheck());
  if (!looks.ok()) return looks.status();
  PrunePlan plan{std::move(*looks), {}};
  for (;;) {
    plan.fates = fates_of(policy, plan.looks);
    if (all || std::none_of(plan.fates.begin(), plan.fates.end(), is_removed)) return plan;
    const auto newest = std::find(plan.fates.begin(), plan.fates.end(), Fate::newest);
    HW_CHECK(newest != plan.fates.end());  // or nothing would go
    Look& look = plan.looks[static_cast<std::size_t>(newest - plan.fates.begin())];
    read_deeply(look, deep);
    if (look.state.ok()) return plan;
  }
}

Status execute_prune(FileSystem& files, const std::string& folder, const PrunePlan& plan) {
  HW_CHECK(plan.looks.size() == plan.fates.size());
  bool must = false;
  const Status latest = mend_latest(files, folder, plan, must);
  if (!latest.ok() && must) return latest;
  clear_removed(files, folder);
  std::vector<const Look*> going;
  for (std::size_t i = 0; i < plan.looks.size(); ++i) {
    if (is_removed(plan.fates[i])) going.push_back(&plan.looks[i]);
  }
  // Nothing may lose its base before it goes itself.
  const auto rest = std::stable_partition(
      going.begin(), going.end(), [](const Look* look) { return !look->manifest.base.empty(); });
  std::reverse(rest, going.end());
  for (const Look* look : going) {
    if (Status status = remove_checkpoint(files, look->path); !status.ok()) return status;
  }
  if (Status status = files.sync_folder(folder); !status.ok() || latest.ok()) return status;
  return mend_latest(files, folder, plan, must);  // there may be room for it now
}

}  // namespace headway::checkpoint
