// headway ckpt restore-to: a checkpoint as files that anything opens, or for other ranks.
#include <fmt/format.h>

#include <optional>

#include "checkpoint/lock.h"
#include "checkpoint/restore.h"
#include "cli/ckpt.h"
#include "cli/ckpt_search.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using checkpoint::CheckpointReader;
using checkpoint::Restored;

struct Options {
  std::string path, out;
  std::optional<std::uint32_t> ranks;
  std::string only;
  std::uint64_t shard_bytes = checkpoint::shard_bytes_default;
  bool json = false;
};

struct Done {
  std::string from;
  std::string path;  // of what was written
  Restored what;
};

Result<Done> restore(const CheckpointReader& reader, const Options& options) {
  base::FileSystem& files = base::real_file_system();
  const std::string out = checkpoint::without_last_slash(options.out);
  ProgressBar progress("restore", checkpoint::restored_bytes(reader, options.only));
  const checkpoint::RestoreOptions how{options.only, options.shard_bytes, progress.callback()};
  if (!options.ranks) {
    Status made = base::make_dirs(base::folder_of(out));
    if (!made.ok()) return made;
    auto what = checkpoint::restore_whole(files, reader, out, how);
    if (!what.ok()) return what.status();
    return Done{reader.path(), out, std::move(*what)};
  }
  if (checkpoint::is_checkpoint(files, out)) {
    return Status::invalid(out + ": a checkpoint itself; name the folder to write one into");
  }
  if (Status status = base::make_dirs(out); !status.ok()) return status;
  auto lock = checkpoint::FolderLock::take(out, "headway ckpt restore-to");
  if (!lock.ok()) return lock.status();
  auto what = checkpoint::restore_ranks(files, reader, out, *options.ranks, how);
  if (!what.ok()) return what.status();
  return Done{reader.path(), out + "/" + what->name.text(), std::move(what->what)};
}

int execute(const Options& options) {
  if (Status status = check_local(options.out); !status.ok()) return fail_cleanly(status);
  auto done = use_checkpoint(options.path, [&](const std::string& path) -> Result<Done> {
    auto reader = CheckpointReader::open(base::real_file_system(), path);
    return reader.ok() ? restore(**reader, options) : Result<Done>(reader.status());
  });
  if (!done.ok()) return fail_cleanly(done.status());
  const Restored& what = done->what;
  if (options.json) {
    return print_json({{"from", done->from},
                       {"path", done->path},
                       {"tensors", what.tensors},
                       {"bytes", what.bytes},
                       {"files", what.files},
                       {"left_out", what.left_out}});
  }
  const Style style = out_style();
  Page page(style);
  page.add_whole(Line()
                     .add(clean(done->path, style), Ink::strong)
                     .add(fmt::format(" {} {} tensor{} {} {} in {} file{}", page.dot(),
                                      human_count(what.tensors), what.tensors == 1 ? "" : "s",
                                      page.dot(), human_bytes(what.bytes), what.files.size(),
                                      what.files.size() == 1 ? "" : "s")));
  if (!what.left_out.empty()) {
    page.add_whole(Line().add(
        fmt::format("  left out, as they hold no tensors: {}", fmt::join(what.left_out, ", ")),
        Ink::wasted));
  }
  return print_out(page.text());
}

}  // namespace

void add_ckpt_restore(Verb& ckpt, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = ckpt.add_verb(
      "restore-to", "Write whole tensors as safetensors files, or a checkpoint for other ranks");
  verb->add_option("path", options->path, "Checkpoint, or folder of them: then the newest")
      ->required()
      ->type_name("PATH");
  verb->add_option("out", options->out,
                   "New folder; with --ranks, folder of checkpoints to add one to")
      ->required()
      ->type_name("OUT");
  verb->add_option("--ranks", options->ranks, "A checkpoint of M ranks, each with its rows")
      ->range(1, checkpoint::ranks_max)
      ->type_name("M");
  verb->add_option("--only", options->only, "Only tensors whose name begins so")
      ->type_name("PREFIX");
  verb->add_option("--max-shard", options->shard_bytes, "Data in one file (default: 5GB)")
      ->as_bytes()
      ->type_name("SIZE");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Everything that is read is compared with its checksum; OUT appears whole or not at all.\n"
      "Examples:\n"
      "  headway ckpt restore-to /data/ckpt out --only model.\n"
      "  headway ckpt restore-to /data/ckpt /data/ckpt-of-16 --ranks 16");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
