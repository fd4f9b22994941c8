// headway ckpt prune: removes the checkpoints that nobody wants any more.
#include <fmt/format.h>

#include <optional>

#include "base/clock.h"
#include "base/duration.h"
#include "checkpoint/lock.h"
#include "checkpoint/prune.h"
#include "cli/ckpt.h"
#include "cli/human.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using checkpoint::Fate;
using checkpoint::FolderLock;
using checkpoint::Look;
using checkpoint::PrunePlan;
using checkpoint::RetentionPolicy;

struct Options {
  std::string folder;
  std::optional<std::size_t> last;
  std::string every;
  bool damaged = false;
  bool deep = false;
  bool dry_run = false;
  bool json = false;
};

constexpr std::int64_t kEveryMinSeconds = 1;
constexpr std::int64_t kEveryMaxSeconds = 366LL * 24 * 3600;

Result<RetentionPolicy> policy_of(const Options& options) {
  if (!options.last && options.every.empty()) {
    return Status::invalid("ckpt prune: say what to keep: --last N, --every 6h, or both");
  }
  RetentionPolicy policy;
  policy.last = options.last.value_or(1);
  policy.drop_damaged = options.damaged;
  policy.drop_lost = true;
  if (!options.every.empty()) {
    auto every =
        base::parse_time_option("--every", options.every, kEveryMinSeconds, kEveryMaxSeconds);
    if (!every.ok()) return every.status();
    policy.every_ns = *every;
  }
  return policy;
}

// Of one that is not good and stays.
std::string why_left(const Look& look, const Options& options) {
  if (look.is_link) return "a link";
  const std::string state(state_word(look));
  if (state == "unfinished") {
    return state + (look.anchor ? ", and an anchor" : "; nothing good is left");
  }
  if (state != "damaged") return state;
  if (look.anchor) return "damaged, and an anchor";
  return options.damaged ? "damaged; nothing good is left" : "damaged; --damaged removes it";
}

std::string why(Fate fate, const Look& look, const Options& options, std::uint64_t newest_step) {
  switch (fate) {
    case Fate::newest:
      return look.read ? "the newest good one" : "the newest; nothing goes, so it was not read";
    case Fate::last:
      return fmt::format("of the last {}", options.last.value_or(1));
    case Fate::whole:
      return fmt::format("of the last {} that are no deltas", options.last.value_or(1));
    case Fate::every:
      return fmt::format("first of its {}", options.every);
    case Fate::anchor:
      return "anchor";
    case Fate::base:
      return "a newer one is read with it";
    case Fate::left:
      return why_left(look, options);
    case Fate::goes:
      return look.name.step > newest_step
                 ? fmt::format("though of a later step: step {} came in after it", newest_step)
                 : "";
    case Fate::goes_broken:
      return std::string(state_word(look));
  }
  return "";
}

std::string to_text(const PrunePlan& plan, const Options& options, const std::string& folder) {
  const Style style = out_style();
  Page page(style);
  const std::int64_t now_ns = base::real_ns();
  int names = 0;
  std::size_t gone = 0;
  std::uint64_t newest_step = 0;
  for (std::size_t i = 0; i < plan.looks.size(); ++i) {
    if (plan.fates[i] == Fate::newest) newest_step = plan.looks[i].name.step;
    names = std::max(names, columns_of(plan.looks[i].name.text()));
    gone += checkpoint::is_removed(plan.fates[i]) ? 1 : 0;
  }
  for (std::size_t i = 0; i < plan.looks.size(); ++i) {
    const Look& look = plan.looks[i];
    const bool goes = checkpoint::is_removed(plan.fates[i]);
    Line line;
    line.add("  ").add(look.name.text(), goes ? Ink::dim : Ink::plain);
    line.right(age_text(look.manifest.time_ns, now_ns, style), names + 12);
    line.right(human_bytes(look.bytes), names + 24).to(names + 26);
    line.add(goes ? (options.dry_run ? "would go" : "removed") : "kept",
             goes ? Ink::wasted : Ink::effective);
    const std::string reason = why(plan.fates[i], look, options, newest_step);
    if (!reason.empty()) line.to(names + 36).add(reason, Ink::dim);
    page.add_whole(line);  // why it stays must not be cut off
  }
  Line sum;
  sum.add(clean(folder, style), Ink::strong);
  sum.add(fmt::format(" {} {} {} {}, {} {}", page.dot(),
                      options.dry_run ? "would remove" : "removed", gone,
                      gone == 1 ? "checkpoint" : "checkpoints", human_bytes(plan.bytes_removed()),
                      options.dry_run ? "(nothing was touched)" : "freed"));
  page.add_whole(sum);
  return page.text();
}

Json to_json(const PrunePlan& plan, const Options& options, const std::string& folder) {
  Json json = {{"folder", folder},
               {"dry_run", options.dry_run},
               {"bytes_removed", plan.bytes_removed()},
               {"removed", Json::array()},
               {"kept", Json::array()}};
  for (std::size_t i = 0; i < plan.looks.size(); ++i) {
    const Look& look = plan.looks[i];
    Json each = {{"name", look.name.text()},
                 {"why", checkpoint::name_of(plan.fates[i])},
                 {"state", look.state.ok() && !look.read ? "unread" : state_word(look)},
                 {"bytes", look.bytes}};
    json[checkpoint::is_removed(plan.fates[i]) ? "removed" : "kept"].push_back(each);
  }
  return json;
}

int execute(const Options& options) {
  if (Status status = check_local(options.folder); !status.ok()) return fail_cleanly(status);
  const auto policy = policy_of(options);
  if (!policy.ok()) return fail_cleanly(policy.status());
  base::FileSystem& files = base::real_file_system();
  const std::string folder = checkpoint::without_last_slash(options.folder);
  if (checkpoint::is_checkpoint(files, folder)) {
    return fail_cleanly(
        Status::invalid(folder + ": one checkpoint; prune wants the folder that it is in"));
  }
  // Before it gets a lock: what somebody named by mistake stays as it is.
  auto names = checkpoint::CheckpointFolder(files, folder).list();
  if (!names.ok()) return fail_cleanly(names.status());
  if (names->empty()) {
    const bool there = files.list(folder).ok();
    return fail_cleanly(Status::invalid(
        folder + (there ? ": no checkpoint is in it" : ": there is no such folder")));
  }
  std::optional<FolderLock> lock;
  if (!options.dry_run) {
    auto taken = FolderLock::take(folder, "headway ckpt prune");
    if (!taken.ok()) return fail_cleanly(taken.status());
    lock.emplace(std::move(*taken));
  }
  auto plan =
      checkpoint::plan_checked_prune(files, folder, policy.value(), check_deep, options.deep);
  if (!plan.ok()) return fail_cleanly(plan.status());
  if (!options.dry_run) {
    Status status = checkpoint::execute_prune(files, folder, *plan);
    if (!status.ok()) return fail_cleanly(status);
  }
  return options.json ? print_json(to_json(*plan, options, folder))
                      : print_out(to_text(*plan, options, folder));
}

}  // namespace

void add_ckpt_prune(Verb& ckpt, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = ckpt.add_verb("prune", "Remove checkpoints that are no longer wanted");
  verb->add_option("folder", options->folder, "Folder of checkpoints")
      ->required()
      ->type_name("FOLDER");
  verb->add_option("--last", options->last, "Keep the N newest good ones")
      ->range(1, 1'000'000)
      ->type_name("N");
  verb->add_option("--every", options->every,
                   "Keep the first good one of every such time too: 6h, 1d, 30m")
      ->type_name("TIME");
  verb->add_flag("--damaged", options->damaged, "Remove damaged ones too; else they stay");
  verb->add_flag("--deep", options->deep, "Read all of them first, not only the newest that stays");
  verb->add_flag("--dry-run", options->dry_run, "Say what would go, and touch nothing");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "The newest good one and those with an anchor are never removed; before anything else\n"
      "goes, that one is read to its last byte, and where none is good nothing goes. Deltas\n"
      "count as kept ones, and as many whole ones stay besides.\n"
      "Example:\n"
      "  headway ckpt prune /data/ckpt --last 3 --every 6h --dry-run");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
