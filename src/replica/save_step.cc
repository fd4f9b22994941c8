#include "replica/save_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/prune.h"
#include "checkpoint/writable.h"
#include "replica/persist.h"

namespace headway::replica {
namespace {

using base::Result;
using base::Status;
using Note = std::function<void(const std::string&)>;

// It was renamed, and what failed came after: to write it again would make two of it, of which
// retention would count both.
bool is_there(const checkpoint::CheckpointFolder& folder, const Slot& slot) {
  const auto facts = slot.facts();
  const auto names = folder.list();
  return facts && names.ok() && !names.value().empty() && names.value().front().step == facts->step;
}

}  // namespace

bool thin_out(base::FileSystem& files, const SaveOrder& order, const Note& note,
              const std::optional<checkpoint::CheckpointName>& written) {
  if (order.keep.last == 0) return false;
  std::vector<std::string> damaged = order.damaged;
  if (written) std::erase(damaged, order.folder + "/" + written->text());
  bool went = false;
  order.while_reading([&](const std::optional<checkpoint::CheckpointName>& read) {
    auto plan = checkpoint::plan_prune(files, order.folder, order.keep, damaged);
    Status status = plan.status();
    for (std::size_t i = 0; plan.ok() && read && i < plan->looks.size(); ++i) {
      const bool is_read = plan->looks[i].name.text() == read->text();
      if (is_read && is_removed(plan->fates[i])) plan->fates[i] = checkpoint::Fate::left;
    }
    if (status.ok()) status = checkpoint::execute_prune(files, order.folder, *plan);
    if (!status.ok()) note(status.message());
    went = plan.ok() && std::any_of(plan->fates.begin(), plan->fates.end(), checkpoint::is_removed);
  });
  return went;
}

Status with_advice(const Status& status, const std::string& folder) {
  const bool named = status.message().find(folder) != std::string::npos;
  const bool full = status.code() == base::Code::no_space;
  const bool advised = status.message().find("or name another folder") != std::string::npos;
  std::string advice;
  if (full) {
    advice = "; make room there, or keep fewer checkpoints (keep_last)";
  } else if (status.message() != save_given_up && !advised) {
    if (status.code() == base::Code::io_error) advice = checkpoint::unwritable_advice(folder);
    if (advice.empty()) advice = "; see to it";
  }
  return {status.code(), fmt::format("{}{}{}. Training goes on, and the next save tries again",
                                     named ? "" : folder + ": ", status.message(), advice)};
}

Result<checkpoint::CheckpointName> save_step(base::FileSystem& files, const SaveOrder& order,
                                             const std::vector<std::shared_ptr<Slot>>& slots,
                                             const std::function<bool()>& goes_on,
                                             const Note& note) {
  checkpoint::CheckpointFolder folder(files, order.folder);
  auto written = persist(folder, order.job, slots, order.base, goes_on);
  const bool full = written.status().code() == base::Code::no_space && !is_there(folder, *slots[0]);
  if (full && thin_out(files, order, note))
    written = persist(folder, order.job, slots, order.base, goes_on);
  if (!written.ok()) return with_advice(written.status(), order.folder);
  (void)thin_out(files, order, note, *written);
  return written;
}

}  // namespace headway::replica
