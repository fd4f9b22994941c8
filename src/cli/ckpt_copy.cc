// headway ckpt copy: a checkpoint into another folder.
#include <fmt/format.h>

#include "checkpoint/anchor.h"
#include "checkpoint/copy.h"
#include "checkpoint/lock.h"
#include "cli/ckpt.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using checkpoint::Copied;

struct Options {
  std::string from, to;
  bool anchor = false;
  bool json = false;
};

Result<Copied> copy_local(const Options& options, const std::string& from,
                          const std::string& folder) {
  base::FileSystem& files = base::real_file_system();
  if (checkpoint::is_checkpoint(files, folder)) {
    return Status::invalid(folder + ": a checkpoint itself; name the folder to copy into");
  }
  if (Status status = base::make_dirs(folder); !status.ok()) return status;
  auto lock = checkpoint::FolderLock::take(folder, "headway ckpt copy");
  if (!lock.ok()) return lock.status();
  std::uint64_t bytes = 0;
  auto manifest = checkpoint::read_manifest(files, from);
  if (!manifest.ok()) return manifest.status();
  for (const auto& file : manifest->files) bytes += file.bytes;
  ProgressBar progress("copy " + checkpoint::last_name_of(from), bytes);
  auto copied = checkpoint::copy_checkpoint(files, from, files, folder, progress.callback());
  if (!copied.ok() || !options.anchor) return copied;
  // Under the same lock: no prune comes between.
  Status status = checkpoint::set_anchor(files, folder + "/" + copied->name.text(), "");
  if (!status.ok()) return status;
  return copied;
}

int execute(const Options& options) {
  // Where an object store will be one of the two ends, this is the place to choose who copies.
  for (const std::string* path : {&options.from, &options.to}) {
    if (Status status = check_local(*path); !status.ok()) return fail_cleanly(status);
  }
  auto from = find_local_checkpoint(options.from);
  if (!from.ok()) return fail_cleanly(from.status());
  const std::string folder = checkpoint::without_last_slash(options.to);
  const auto copied = copy_local(options, *from, folder);
  if (!copied.ok()) return fail_cleanly(copied.status());
  const Copied& done = copied.value();
  const std::string path = folder + "/" + done.name.text();
  if (options.json) {
    return print_json({{"from", *from},
                       {"path", path},
                       {"bytes", done.bytes},
                       {"copied", !done.was_there},
                       {"anchor", options.anchor}});
  }
  const Style style = out_style();
  Page page(style);
  page.add_whole(
      Line()
          .add(clean(path, style), Ink::strong)
          .add(fmt::format(" {} ", page.dot()))
          .add(done.was_there ? "was there already" : "copied and verified", Ink::effective)
          .add(fmt::format(" {} {}", page.dot(), human_bytes(done.bytes))));
  return print_out(page.text());
}

}  // namespace

void add_ckpt_copy(CLI::App& ckpt, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      ckpt.add_subcommand("copy", "Copy a checkpoint into another folder, verified on the way");
  verb->add_option("source", options->from, "Checkpoint, or folder of them: then the newest")
      ->required()
      ->type_name("SRC");
  verb->add_option("folder", options->to, "Folder of checkpoints; made if it is not there")
      ->required()
      ->type_name("DST");
  verb->add_flag("--anchor", options->anchor, "Keep the copy forever");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "It is there whole or not at all; a second copy of the same one writes nothing.\n"
      "Example:\n"
      "  headway ckpt copy /scratch/ckpt /archive/ckpt --anchor");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
