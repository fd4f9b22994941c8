// headway ckpt: look at checkpoints, check, thin out, copy and take them apart.
#include "cli/ckpt.h"

#include <fmt/format.h>

#include "base/job_path.h"
#include "checkpoint/anchor.h"
#include "checkpoint/verify.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {

using base::Result;
using base::Status;
using checkpoint::CheckpointReader;
using checkpoint::Look;

Status check_local(const std::string& path) {
  if (path.empty()) return Status::invalid("ckpt: the path is empty");
  const std::size_t scheme = path.find("://");
  if (scheme == std::string::npos) return {};
  return Status::invalid(fmt::format(
      "{}: only `headway ckpt copy`, `ls` and `verify` read {}://; copy it into a folder first",
      path, path.substr(0, scheme)));
}

Result<checkpoint::VerifyReport> verify_local(const std::string& path) {
  base::FileSystem& files = base::real_file_system();
  const auto bytes = checkpoint::bytes_to_read(files, path);
  ProgressBar progress("verify " + checkpoint::last_name_of(path), bytes.ok() ? bytes.value() : 0);
  return checkpoint::verify_checkpoint(files, path, progress.callback());
}

Status check_deep(const std::string& path) {
  auto report = verify_local(path);
  if (!report.ok()) return report.status();
  if (report->good()) return {};
  const std::size_t more = report->damages.size() - 1 + report->more_damages;
  return Status::corrupt(report->damages.front().text +
                         (more > 0 ? fmt::format(" (and {} more)", more) : ""));
}

std::string attempt_text(std::uint64_t attempt, bool one_run) {
  constexpr std::uint64_t kRunsMax = 10'000;  // beyond, it is no count but a time
  const std::uint64_t run = attempt / base::kLaunchesPerAllocation;
  if (one_run || run >= kRunsMax) return fmt::to_string(attempt);
  return fmt::format("{}.{}", run + 1, attempt % base::kLaunchesPerAllocation);
}

std::string_view state_word(const Look& look) {
  if (look.unfinished) return "unfinished";
  if (look.state.ok()) return "good";
  return look.state.code() == base::Code::corrupt ? "damaged" : "unreadable";
}

Ink state_ink(const Look& look) {
  if (look.unfinished) return Ink::wasted;
  return look.state.ok() ? Ink::effective : Ink::down;
}

Json to_json(const Look& look) {
  Json json = {{"name", look.name.text()},  {"path", look.path},
               {"step", look.name.step},    {"sequence", look.name.sequence},
               {"state", state_word(look)}, {"why", look.state.message()},
               {"anchor", look.anchor}};
  if (look.anchor) json["note"] = checkpoint::anchor_note(base::real_file_system(), look.path);
  json["bytes"] = look.bytes;
  if (look.manifest.files.empty() && !look.state.ok()) return json;
  json["files"] = look.manifest.files.size();
  json["world_size"] = look.manifest.world_size;
  json["data"] = look.manifest.data;
  json["job"] = look.manifest.job;
  json["attempt"] = look.manifest.attempt;
  json["time_ns"] = look.manifest.time_ns;
  if (!look.manifest.base.empty()) json["base"] = look.manifest.base;
  return json;
}

std::string without_prefix(const std::string& text, const std::string& folder) {
  const std::string prefix = folder + "/";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::string age_text(std::int64_t time_ns, std::int64_t now_ns, const Style& style) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (!is_date(time_ns) || time_ns > now_ns + kSecond) return std::string("-");
  const std::int64_t age = std::max<std::int64_t>(0, now_ns - time_ns);
  return age < 60 * kSecond ? fmt::format("{}s", age / kSecond) : human_duration(age, style);
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void add_ckpt(Verb& app, int& exit_code) {
  Verb* ckpt = app.add_verb(
      "ckpt", "Look at checkpoints: list, verify, compare, thin out, copy, take apart");
  ckpt->require_verb();
  for (const auto add :
       {add_ckpt_ls, add_ckpt_show, add_ckpt_verify, add_ckpt_diff, add_ckpt_anchor, add_ckpt_prune,
        add_ckpt_copy, add_ckpt_restore, add_ckpt_hold}) {
    add(*ckpt, exit_code);
  }
  ckpt->footer(
      "A PATH is a checkpoint, a folder of checkpoints (then the newest good one), or\n"
      "FOLDER/LATEST.\n"
      "\n"
      "Examples:\n"
      "  headway ckpt ls /data/ckpt\n"
      "  headway ckpt show /data/ckpt model.embed.weight\n"
      "  headway ckpt verify /data/ckpt/LATEST\n"
      "  headway ckpt prune /data/ckpt --last 3 --every 6h --dry-run\n"
      "  headway ckpt restore-to /data/ckpt out --only model.");
}

}  // namespace headway::cli
