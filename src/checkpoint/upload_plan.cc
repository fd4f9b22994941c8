#include "checkpoint/upload_plan.h"

#include <algorithm>

#include "base/check.h"

namespace headway::checkpoint {
namespace {

bool same_name(const CheckpointName& a, const CheckpointName& b) {
  return a.step == b.step && a.sequence == b.sequence;
}

const StoredCheckpoint* find_same(const LocalCheckpoint& local,
                                  const std::vector<StoredCheckpoint>& store) {
  const auto it = std::find_if(store.begin(), store.end(), [&](const StoredCheckpoint& each) {
    return each.committed && each.name.step == local.name.step && each.manifest == local.manifest;
  });
  return it == store.end() ? nullptr : &*it;
}

}  // namespace

UploadPlan plan_upload(const std::vector<LocalCheckpoint>& folder,
                       const std::vector<StoredCheckpoint>& store) {
  UploadPlan plan;
  std::uint64_t highest = 0;  // number of those that are there
  for (const StoredCheckpoint& each : store) {
    if (each.committed) highest = std::max(highest, each.name.sequence);
  }
  std::vector<const LocalCheckpoint*> wanted;  // that are not there: the newest, and anchors
  std::optional<UploadPlan::One> newest_there;
  for (std::size_t i = 0; i < folder.size(); ++i) {
    const LocalCheckpoint& local = folder[i];
    if (const StoredCheckpoint* there = find_same(local, store)) {
      const UploadPlan::One one{local.name, there->name};
      if (!newest_there) newest_there = one;
      if (local.anchor) plan.anchors.push_back(one);
    } else if (i == 0 || local.anchor) {
      wanted.push_back(&local);
    } else if (!newest_there) {
      plan.skipped.push_back(local.name);
    }
  }
  // How much higher the numbers are there: as for what is there already, or just as high as needed.
  std::uint64_t shift = 0;
  if (newest_there && newest_there->as.sequence > newest_there->name.sequence) {
    shift = newest_there->as.sequence - newest_there->name.sequence;
  }
  const bool newest_wanted = !wanted.empty() && wanted.front() == &folder.front();
  if (newest_wanted && wanted.front()->name.sequence + shift <= highest) {
    const LocalCheckpoint& first = newest_there ? *wanted.front() : *wanted.back();
    shift = highest - first.name.sequence + 1;
  }
  std::vector<CheckpointName> to_come;
  for (const LocalCheckpoint* local : wanted) {
    const CheckpointName as{local->name.step, local->name.sequence + shift};
    const bool taken = std::any_of(store.begin(), store.end(), [&](const StoredCheckpoint& each) {
      return each.committed && same_name(each.name, as);
    });
    if (taken) {  // by somebody else's
      plan.skipped.push_back(local->name);
      continue;
    }
    if (!plan.next) plan.next = UploadPlan::One{local->name, as};
    to_come.push_back(as);
  }
  for (const StoredCheckpoint& each : store) {
    const bool comes = std::any_of(to_come.begin(), to_come.end(), [&](const CheckpointName& name) {
      return same_name(name, each.name);
    });
    // Behind the newest that is there: what is ahead may be somebody's who is just sending it.
    if (!each.committed && !comes && each.name.sequence < highest) plan.waste.push_back(each.name);
  }
  return plan;
}

base::Result<std::vector<CheckpointName>> plan_store_prune(
    const std::vector<StoredCheckpoint>& store, std::size_t keep, const StateOf& state_of) {
  HW_CHECK(keep > 0);
  std::vector<CheckpointName> goes;
  std::size_t good = 0;
  for (const StoredCheckpoint& each : store) {
    if (!each.committed) continue;
    auto state = state_of(each.name);
    if (!state.ok()) return state.status();
    if (!state->good || state->anchor) continue;
    if (good < keep) {
      ++good;
    } else {
      goes.push_back(each.name);
    }
  }
  return goes;
}

}  // namespace headway::checkpoint
