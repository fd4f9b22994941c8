// headway cache pack: a cache directory into one file.
#include <fmt/format.h>

#include <cstdio>

#include "cache/pack.h"
#include "cli/cache.h"
#include "cli/cache_python.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Status;

struct Options {
  std::string directory;
  MakeOptions make;
  bool relocatable = false;
};

void print_notes(const cache::Scan& scan, const cache::Packed& packed, bool is_signed) {
  const auto note = [](const std::string& text) { fmt::print(stderr, "headway: {}\n", text); };
  if (scan.busy > 0) {
    note(plural(scan.busy, "file is", "files are") + " still being compiled and left out");
  }
  if (!scan.damaged.empty()) {
    note(fmt::format("{} damaged and left out, {} for one: what is removed is compiled again",
                     plural(scan.damaged.size(), "library is", "libraries are"),
                     scan.damaged.front()));
  }
  if (packed.vanished > 0) {
    note(plural(packed.vanished, "file was left out: it", "files were left out: they") +
         " changed while being read");
  }
  if (scan.unknown > 0) {
    note(plural(scan.unknown, "file or folder is", "files or folders are") +
         " of no known kind and left out");
  }
  if (!is_signed) note_unsigned();
}

int execute(const Options& options) {
  base::FileSystem& files = base::real_file_system();
  const std::string directory =
      options.directory.empty() ? default_cache_directory() : options.directory;
  auto key = find_key(options.make.key);
  if (!key.ok()) return fail_cleanly(key.status());
  auto scan = cache::scan_directory(files, directory, cache::lock_probe(directory));
  if (!scan.ok()) return fail_cleanly(scan.status());
  if (scan->files.empty()) {
    return fail_cleanly(Status::not_found(
        directory + ": nothing that torch's compiler made is in it; name its cache directory"));
  }
  auto binding = make_binding(options.make.binding);
  if (!binding.ok()) return fail_cleanly(binding.status());
  if (options.relocatable) {
    auto commands = ask_for_commands(options.make.binding.python, directory);
    if (!commands.ok()) {
      fmt::print(stderr, "headway: elsewhere its libraries will be compiled again: {}\n",
                 commands.status().message());
    } else {
      binding->commands = std::move(*commands);
    }
  }
  ProgressBar bar("pack " + options.make.out, scan->bytes);
  auto packed = cache::pack_directory(
      files, directory, *scan, *binding, files, options.make.out,
      {.threads = cache_threads(), .key = *key ? &**key : nullptr, .progress = bar.callback()});
  bar.clear();
  if (!packed.ok()) return fail_cleanly(packed.status());
  if (options.make.json) {
    return print_json({{"path", options.make.out},
                       {"directory", directory},
                       {"entries", packed->entries},
                       {"contents", packed->contents},
                       {"raw_bytes", packed->raw_bytes},
                       {"file_bytes", packed->file_bytes},
                       {"signed", key->has_value()},
                       {"busy", scan->busy},
                       {"damaged", scan->damaged.size()},
                       {"vanished", packed->vanished},
                       {"unknown", scan->unknown},
                       {"content", packed->content},
                       {"binding", to_json(*binding)}});
  }
  print_notes(*scan, *packed, key->has_value());
  const Style style = out_style();
  Page page(style);
  page.add_whole(
      Line()
          .add(clean(options.make.out, style), Ink::strong)
          .add(fmt::format(" {} {} {} {} in {}", page.dot(),
                           plural(packed->entries, "entry", "entries"), page.dot(),
                           human_bytes(packed->raw_bytes), human_bytes(packed->file_bytes))));
  return print_out(page.text());
}

}  // namespace

void add_cache_pack(Verb& cache, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = cache.add_verb("pack", "Pack a cache directory of torch's compiler into one file");
  verb->add_option("directory", options->directory,
                   "Cache directory (default: $TORCHINDUCTOR_CACHE_DIR, else where torch puts it)")
      ->type_name("DIR");
  add_make_options(*verb, options->make);
  verb->add_flag("--relocatable", options->relocatable,
                 "Also for environments at another path: asks torch how it compiles, which takes "
                 "some seconds");
  verb->footer(
      "It is there whole or not at all. Locks, temporary files and what is still being compiled\n"
      "stay out.\n"
      "Example:\n"
      "  headway cache pack /tmp/torchinductor_me -o warm.hwc --family ctr");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
