// headway ckpt ls: which checkpoints there are.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "checkpoint/anchor.h"
#include "cli/ckpt.h"
#include "cli/ckpt_remote.h"
#include "cli/human.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using checkpoint::Look;

struct Options {
  std::string folder = ".";
  bool deep = false;
  bool json = false;
  std::size_t last = std::numeric_limits<std::size_t>::max();
};

// Where columns end, behind that of the names. A narrow terminal does without those that the name
// or `show` tells: the state must not be cut off.
struct Columns {
  int name_end, step_end, age_end, size_end, ranks_end, state;
  bool narrow;
};
constexpr int narrow_columns = 78;

Columns columns_for(int name_end, const Style& style) {
  if (style.width < narrow_columns) {
    return {name_end, 0, name_end + 8, name_end + 18, 0, name_end + 20, true};
  }
  return {name_end,      name_end + 9,  name_end + 19, name_end + 31,
          name_end + 39, name_end + 41, false};
}

void add_row(Page& page, const Look& look, const Columns& at, bool newest, std::int64_t now_ns) {
  const Style& style = page.style();
  const bool known = look.state.ok() || !look.manifest.files.empty();
  Line line;
  line.add("  ").add(look.name.text(), newest ? Ink::strong : Ink::plain);
  if (!at.narrow) line.right(human_count(look.name.step), at.step_end);
  line.right(known ? age_text(look.manifest.time_ns, now_ns, style) : "-", at.age_end);
  line.right(known || look.bytes > 0 ? human_bytes(look.bytes) : "-", at.size_end);
  if (!at.narrow) line.right(known ? human_count(look.manifest.world_size) : "-", at.ranks_end);
  line.to(at.state).add(state_word(look), state_ink(look));
  if (newest) line.add(fmt::format(" {} newest", page.dot()), Ink::strong);
  if (look.anchor) {
    line.add(fmt::format(" {} anchor", page.dot()), Ink::launcher_init);
    const std::string note = checkpoint::anchor_note(base::real_file_system(), look.path);
    if (!note.empty()) line.add(": " + clean(note, style), Ink::dim);
  }
  if (!look.manifest.base.empty()) {
    line.add(fmt::format(" {} a delta", page.dot()), Ink::dim);
  }
  if (look.is_link) line.add(fmt::format(" {} a link", page.dot()), Ink::dim);
  page.add(line);
  if (look.state.ok()) return;
  const std::string why = look.unfinished ? std::string(unfinished_advice)
                                          : without_prefix(look.state.message(), look.path);
  page.add_broken(Line().add("      ").add(clean(why, style), state_ink(look)), 6);
}

std::string to_text(const std::string& folder, const std::vector<Look>& looks, bool deep) {
  const Style style = out_style();
  Page page(style);
  std::uint64_t bytes = 0;
  int names = columns_of("name");
  std::size_t good = 0, bad = 0;
  for (const Look& look : looks) {
    bytes += look.bytes;
    if (!look.unfinished) ++(look.state.ok() ? good : bad);
    names = std::max(names, columns_of(look.name.text()));
  }
  Line title;
  title.add(clean(folder, style), Ink::strong);
  title.add(fmt::format(" {} {} checkpoint{} {} {}", page.dot(), good + bad,
                        good + bad == 1 ? "" : "s", page.dot(), human_bytes(bytes)));
  if (bad > 0)
    title.add(fmt::format(" {} ", page.dot())).add(fmt::format("{} bad", bad), Ink::down);
  page.add_whole(title);
  if (looks.empty()) {
    page.add("  none is here: a checkpoint is a folder like step-00000100-000007", Ink::dim);
    return page.text();
  }
  const Columns at = columns_for(names + 2, style);
  Line head;
  head.add("  ").add("name", Ink::dim);
  if (!at.narrow) head.right("step", at.step_end, Ink::dim);
  head.right("age", at.age_end, Ink::dim).right("size", at.size_end, Ink::dim);
  if (!at.narrow) head.right("ranks", at.ranks_end, Ink::dim);
  page.add(head.to(at.state).add(deep ? "state, every byte read" : "state", Ink::dim));
  const std::int64_t now_ns = base::real_ns();
  bool found = false;
  for (const Look& look : looks) {
    const bool newest = look.state.ok() && !found;
    found |= newest;
    add_row(page, look, at, newest, now_ns);
  }
  return page.text();
}

Status check_remote(const Look& look) {
  auto report = verify_remote(look);
  if (!report.ok()) return report.status();
  return report->good() ? Status() : Status::corrupt(report->damages.front().text);
}

Result<std::vector<Look>> look_at(const std::string& folder, const Options& options) {
  if (is_remote(folder)) {
    auto looks = look_remote(folder, options.last);
    for (std::size_t i = 0; options.deep && looks.ok() && i < looks->size(); ++i) {
      if ((*looks)[i].state.ok()) (*looks)[i].state = check_remote((*looks)[i]);
    }
    return looks;
  }
  if (Status status = check_local(folder); !status.ok()) return status;
  base::FileSystem& files = base::real_file_system();
  auto looks =
      checkpoint::look_at_all(files, folder, options.deep ? check_deep : checkpoint::DeepCheck());
  if (!looks.ok()) return looks.status();
  if (looks->empty() && checkpoint::is_checkpoint(files, folder)) {
    return Status::invalid(fmt::format(
        "{}: one checkpoint, not a folder of them; try `headway ckpt show {}`", folder, folder));
  }
  std::size_t good = 0;
  const auto end = std::find_if(looks->begin(), looks->end(), [&](const Look& look) {
    const bool enough = good >= options.last;
    good += look.state.ok() ? 1 : 0;
    return enough;
  });
  looks->erase(end, looks->end());
  return looks;
}

int execute(const Options& options) {
  const std::string folder = checkpoint::without_last_slash(options.folder);
  auto looks = look_at(folder, options);
  if (!looks.ok()) return fail_cleanly(looks.status());
  if (!options.json) return print_out(to_text(folder, *looks, options.deep));
  Json list = Json::array();
  for (const Look& look : *looks) list.push_back(to_json(look));
  return print_json({{"folder", folder}, {"deep", options.deep}, {"checkpoints", list}});
}

}  // namespace

void add_ckpt_ls(Verb& ckpt, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = ckpt.add_verb("ls", "List the checkpoints of a folder, newest first");
  verb->add_option("folder", options->folder,
                   "Folder of checkpoints (default: this one), or s3://bucket/prefix")
      ->type_name("FOLDER");
  verb->add_option("--last", options->last, "So many of the newest good ones, and what is newer")
      ->positive()
      ->type_name("N");
  verb->add_flag("--deep", options->deep, "Read every byte, not only manifests and sizes");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Examples:\n"
      "  headway ckpt ls /data/ckpt\n"
      "  headway ckpt ls s3://models/ctr-v2 --last 3");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
