// headway cache pack: a cache directory into one file.
#include <fmt/format.h>

#include <cstdio>

#include "cache/pack.h"
#include "cli/cache.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Status;

struct Options {
  std::string directory;
  std::string out;
  std::string key;
  BindingOptions binding;
  bool json = false;
};

void print_notes(const cache::Scan& scan, const cache::Packed& packed, bool is_signed) {
  const auto note = [](const std::string& text) { fmt::print(stderr, "headway: {}\n", text); };
  if (scan.busy > 0) {
    note(fmt::format("{} files are still being compiled and were left out", scan.busy));
  }
  if (packed.vanished > 0) {
    note(fmt::format("{} files changed while they were read and were left out", packed.vanished));
  }
  if (scan.unknown > 0) {
    note(fmt::format("{} files or folders are of no known kind and were left out", scan.unknown));
  }
  if (!is_signed) {
    note("the archive is not signed: `headway cache keygen` makes a key to sign with");
  }
}

int execute(const Options& options) {
  base::FileSystem& files = base::real_file_system();
  const std::string directory =
      options.directory.empty() ? default_cache_directory() : options.directory;
  auto key = find_key(options.key);
  if (!key.ok()) return fail_cleanly(key.status());
  auto scan = cache::scan_directory(files, directory, cache::lock_probe(directory));
  if (!scan.ok()) return fail_cleanly(scan.status());
  if (scan->files.empty()) {
    return fail_cleanly(Status::not_found(
        directory + ": nothing that torch's compiler made is in it; name its cache directory"));
  }
  auto binding = make_binding(options.binding);
  if (!binding.ok()) return fail_cleanly(binding.status());
  ProgressBar bar("pack " + options.out, scan->bytes);
  auto packed = cache::pack_directory(
      files, directory, *scan, *binding, files, options.out,
      {.threads = cache_threads(), .key = *key ? &**key : nullptr, .progress = bar.callback()});
  bar.clear();
  if (!packed.ok()) return fail_cleanly(packed.status());
  if (options.json) {
    return print_json({{"path", options.out},
                       {"directory", directory},
                       {"entries", packed->entries},
                       {"contents", packed->contents},
                       {"raw_bytes", packed->raw_bytes},
                       {"file_bytes", packed->file_bytes},
                       {"signed", key->has_value()},
                       {"busy", scan->busy},
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
          .add(clean(options.out, style), Ink::strong)
          .add(fmt::format(" {} {} entries {} {} in {}", page.dot(), human_count(packed->entries),
                           page.dot(), human_bytes(packed->raw_bytes),
                           human_bytes(packed->file_bytes))));
  return print_out(page.text());
}

}  // namespace

void add_cache_pack(CLI::App& cache, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      cache.add_subcommand("pack", "Pack a cache directory of torch's compiler into one file");
  verb->add_option("directory", options->directory,
                   "Cache directory (default: $TORCHINDUCTOR_CACHE_DIR, else where torch puts it)")
      ->type_name("DIR");
  verb->add_option("-o,--out", options->out, "The archive; one that is there is replaced")
      ->required()
      ->type_name("X.hwc");
  add_key_option(*verb, options->key);
  add_binding_options(*verb, options->binding);
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "It is there whole or not at all. Locks, temporary files and what is still being compiled\n"
      "stay out.\n"
      "Example:\n"
      "  headway cache pack /tmp/torchinductor_me -o warm.hwc --family ctr");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
