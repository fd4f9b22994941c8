// headway ckpt anchor: marks a checkpoint that is kept forever.
#include <fmt/format.h>

#include "checkpoint/anchor.h"
#include "checkpoint/lock.h"
#include "cli/ckpt.h"
#include "cli/ckpt_search.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

struct Options {
  std::string path;
  std::string note;
  bool remove = false;
};

int execute(const Options& options) {
  // What is kept forever should be worth it.
  auto path = use_checkpoint(options.path, [&](const std::string& found) -> Result<std::string> {
    const Status good = options.remove ? Status() : check_deep(found);
    return good.ok() ? Result(found) : Result<std::string>(good);
  });
  if (!path.ok()) return fail_cleanly(path.status());
  base::FileSystem& files = base::real_file_system();
  // A prune that has begun would not see it.
  auto lock = checkpoint::FolderLock::take(base::folder_of(*path), "headway ckpt anchor");
  if (!lock.ok()) return fail_cleanly(lock.status());
  auto manifest = checkpoint::read_manifest(files, *path);
  if (!manifest.ok()) return fail_cleanly(manifest.status());
  const bool was_anchor = checkpoint::is_anchor(files, *path);
  const Status status = options.remove ? checkpoint::remove_anchor(files, *path)
                                       : checkpoint::set_anchor(files, *path, options.note);
  if (!status.ok()) return fail_cleanly(status);
  const Style style = out_style();
  Page page(style);
  page.add_whole(Line()
                     .add(clean(*path, style), Ink::strong)
                     .add(!options.remove ? ": kept forever"
                          : was_anchor    ? ": no anchor any more"
                                       : ": it has no anchor; `headway ckpt ls` shows which have"));
  return print_out(page.text());
}

}  // namespace

void add_ckpt_anchor(Verb& ckpt, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = ckpt.add_verb("anchor", "Keep a checkpoint forever: prune leaves it");
  verb->add_option("path", options->path, "Checkpoint, or folder of them: then the newest")
      ->required()
      ->type_name("PATH");
  verb->add_option("--note", options->note, "Why, for those who find it")->type_name("TEXT");
  verb->add_flag("--remove", options->remove, "Take the anchor away");
  verb->footer(
      "Example:\n"
      "  headway ckpt anchor /data/ckpt/step-00012000-000024 --note 'best so far'");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
