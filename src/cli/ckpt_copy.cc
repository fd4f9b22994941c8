// headway ckpt copy: a checkpoint into another folder.
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include "checkpoint/anchor.h"
#include "checkpoint/copy.h"
#include "checkpoint/lock.h"
#include "checkpoint/writable.h"
#include "cli/ckpt.h"
#include "cli/ckpt_remote.h"
#include "cli/ckpt_search.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

struct Options {
  std::string from, to;
  bool anchor = false;
  bool newest = false;
  bool json = false;
  // The trainer's that we work for: the holder of its job has the folder's lock, and we end with
  // it.
  bool for_trainer = false;
};

// Whatever the two ends are: where the copy is.
Result<RemoteCopy> copy_local(const std::string& from, const std::string& folder, bool newest) {
  base::FileSystem& files = base::real_file_system();
  auto bytes = checkpoint::bytes_to_read(files, from);
  if (!bytes.ok()) return bytes.status();
  ProgressBar progress("copy " + checkpoint::last_name_of(from), *bytes);
  auto copied =
      checkpoint::copy_checkpoint(files, from, files, folder, newest, progress.callback());
  if (!copied.ok()) return copied.status();
  return RemoteCopy{folder + "/" + copied->name.text(), copied->bytes, copied->was_there};
}

Result<RemoteCopy> copy_into_folder(const Options& options, const std::string& from,
                                    const std::string& folder) {
  base::FileSystem& files = base::real_file_system();
  if (Status status = base::make_dirs(folder); !status.ok()) {
    return checkpoint::with_unwritable_advice(status, folder);
  }
  if (checkpoint::is_checkpoint(files, folder)) {
    return Status::invalid(folder + ": a checkpoint itself; name the folder to copy into");
  }
  auto lock = checkpoint::FolderLock::take(folder, "headway ckpt copy",
                                           options.for_trainer ? ".lock-fetch" : ".lock");
  if (!lock.ok()) return lock.status();
  auto copied =
      is_remote(from) ? copy_down(from, folder) : copy_local(from, folder, options.newest);
  if (!copied.ok() || !options.anchor) return copied;
  // Under the same lock: no prune comes between.
  Status status = checkpoint::set_anchor(files, copied->path, "");
  if (!status.ok()) return status;
  return copied;
}

Result<RemoteCopy> copy(const Options& options, std::string& from) {
  if (is_remote(options.from) && is_remote(options.to)) {
    return Status::invalid("ckpt copy: one of the two ends has to be a folder of this machine");
  }
  if (is_remote(options.to) && options.anchor) {
    return Status::invalid("ckpt copy: --anchor is for folders; nothing prunes an object store");
  }
  if (options.newest && (is_remote(options.from) || is_remote(options.to))) {
    return Status::invalid("ckpt copy: --newest is for a copy from folder to folder");
  }
  if (!is_remote(options.to)) {
    if (Status status = check_local(options.to); !status.ok()) return status;
  }
  const auto copy_one = [&](const std::string& path) {
    from = path;
    return is_remote(options.to)
               ? copy_up(path, options.to)
               : copy_into_folder(options, path, checkpoint::without_last_slash(options.to));
  };
  return is_remote(options.from) ? copy_one(options.from) : use_checkpoint(options.from, copy_one);
}

int execute(const Options& options) {
  if (options.for_trainer) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string from = options.from;
  const auto copied = copy(options, from);
  if (!copied.ok()) return fail_cleanly(copied.status());
  const RemoteCopy& done = copied.value();
  if (options.json) {
    return print_json({{"from", from},
                       {"path", done.path},
                       {"bytes", done.bytes},
                       {"copied", !done.was_there},
                       {"anchor", options.anchor}});
  }
  const Style style = out_style();
  Page page(style);
  page.add_whole(
      Line()
          .add(clean(done.path, style), Ink::strong)
          .add(fmt::format(" {} ", page.dot()))
          .add(done.was_there ? "was there already" : "copied and verified", Ink::effective)
          .add(fmt::format(" {} {}", page.dot(), human_bytes(done.bytes))));
  return print_out(page.text());
}

}  // namespace

void add_ckpt_copy(Verb& ckpt, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = ckpt.add_verb(
      "copy", "Copy a checkpoint to another folder or an object store, verified on the way");
  verb->add_option("source", options->from,
                   "Checkpoint, or folder of them (or s3://bucket/prefix): then the newest")
      ->required()
      ->type_name("SRC");
  verb->add_option("folder", options->to,
                   "Folder of checkpoints, made if it is not there; or s3://bucket/prefix")
      ->required()
      ->type_name("DST");
  verb->add_flag("--anchor", options->anchor, "Keep the copy forever");
  verb->add_flag("--newest", options->newest,
                 "Also if it is there already: as the newest, which a job goes on from");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->add_flag("--for-trainer", options->for_trainer)->hidden();
  verb->footer(
      "It is there whole or not at all; a second copy of the same one writes nothing.\n"
      "Example:\n"
      "  headway ckpt copy /scratch/ckpt /archive/ckpt --anchor\n"
      "  headway ckpt copy /scratch/ckpt s3://models/ctr-v2\n"
      "  headway ckpt copy /data/ckpt/step-00000500-000003 /data/ckpt --newest   # go back to it");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
