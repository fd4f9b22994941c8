// headway cache import-mega and export-mega: torch's own blobs.
#include <fmt/format.h>

#include <cstdio>

#include "base/file_system.h"
#include "cache/mega.h"
#include "cli/cache.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Status;

struct ImportOptions {
  std::string blob;
  MakeOptions make;
};

struct ExportOptions {
  std::string from, to;
  TrustOptions trust;
  bool unite = false;
  bool json = false;
};

int import_blob(const ImportOptions& options) {
  base::FileSystem& files = base::real_file_system();
  auto key = find_key(options.make.key);
  if (!key.ok()) return fail_cleanly(key.status());
  auto blob = base::read_all(files, options.blob, cache::blob_bytes_max);
  if (!blob.ok()) return fail_cleanly(blob.status());
  auto binding = make_binding(options.make.binding);
  if (!binding.ok()) return fail_cleanly(binding.status());
  auto imported = cache::import_mega(*blob, options.blob, *binding, *key ? &**key : nullptr, files,
                                     options.make.out);
  if (!imported.ok()) return fail_cleanly(imported.status());
  if (options.make.json) {
    return print_json({{"path", options.make.out},
                       {"entries", imported->entries},
                       {"repeated", imported->repeated},
                       {"left_out", imported->left_out},
                       {"file_bytes", imported->file_bytes},
                       {"signed", key->has_value()}});
  }
  if (imported->left_out > 0) {
    fmt::print(stderr,
               "headway: {} artifacts of no known type or place: export-mega gives them back, "
               "unpack passes them over\n",
               imported->left_out);
  }
  if (!*key) note_unsigned();
  const Style style = out_style();
  Page page(style);
  page.add_whole(
      Line()
          .add(clean(options.make.out, style), Ink::strong)
          .add(fmt::format(" {} {} {} {} in {}", page.dot(),
                           plural(imported->entries, "entry", "entries"), page.dot(),
                           human_bytes(blob->size()), human_bytes(imported->file_bytes))));
  return print_out(page.text());
}

int export_blob(const ExportOptions& options) {
  base::FileSystem& files = base::real_file_system();
  auto archive = cache::Archive::open(files, options.from);
  if (!archive.ok()) return fail_cleanly(archive.status());
  auto trust = make_trust(options.trust);
  if (!trust.ok()) return fail_cleanly(trust.status());
  // A blob has no signature of its own: who loads it executes what is in it.
  if (Status status = check_trust((*archive)->front(), *trust, options.from); !status.ok()) {
    return fail_cleanly(status);
  }
  auto exported = cache::export_mega(**archive, options.unite);
  if (!exported.ok()) return fail_cleanly(exported.status());
  if (exported->artifacts == 0) {
    return fail_cleanly(Status::invalid(options.from + ": nothing in it is an artifact of torch"));
  }
  Status status = base::replace_file(files, options.to, base::bytes_of(exported->blob));
  if (!status.ok()) return fail_cleanly(status);
  if (options.json) {
    return print_json({{"path", options.to},
                       {"artifacts", exported->artifacts},
                       {"left_out", exported->left_out},
                       {"exact", exported->exact},
                       {"repeated_types", exported->repeated_types},
                       {"bytes", exported->blob.size()}});
  }
  if (exported->repeated_types > 0) {
    fmt::print(
        stderr,
        "headway: the blob is as it was, of several saves, and torch's loader takes the last "
        "chunk of a type only: --unite makes one of all\n");
  }
  const Style style = out_style();
  Page page(style);
  Line line;
  line.add(clean(options.to, style), Ink::strong);
  line.add(fmt::format(" {} {} {} {}", page.dot(), plural(exported->artifacts, "artifact"),
                       page.dot(), human_bytes(exported->blob.size())));
  if (exported->left_out > 0) {
    line.add(fmt::format(" {} left out: {} that no blob has (code and libraries)", page.dot(),
                         plural(exported->left_out, "entry", "entries")));
  }
  page.add_whole(line);
  return print_out(page.text());
}

}  // namespace

void add_cache_import_mega(Verb& cache, int& exit_code) {
  auto options = std::make_shared<ImportOptions>();
  Verb* verb = cache.add_verb("import-mega",
                              "Make an archive of a blob of torch.compiler.save_cache_artifacts()");
  verb->add_option("blob", options->blob, "The blob, in a file")->required()->type_name("BLOB");
  add_make_options(*verb, options->make);
  verb->footer(
      "A blob is as trustworthy as where you got it from: what is signed here is trusted "
      "elsewhere.\n"
      "Example:\n"
      "  headway cache import-mega artifacts.bin -o warm.hwc");
  verb->callback([options, &exit_code] { exit_code = import_blob(*options); });
}

void add_cache_export_mega(Verb& cache, int& exit_code) {
  auto options = std::make_shared<ExportOptions>();
  Verb* verb = cache.add_verb(
      "export-mega", "Make a blob for torch.compiler.load_cache_artifacts() of an archive");
  verb->add_option("archive", options->from, "The archive")->required()->type_name("X.hwc");
  verb->add_option("-o,--out", options->to, "The blob; a file that is there is replaced")
      ->required()
      ->type_name("BLOB");
  add_trust_options(*verb, options->trust);
  verb->add_flag("--unite", options->unite,
                 "One chunk of each type, so that torch loads what several saves wrote "
                 "(default: an imported blob comes back byte for byte)");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Example:\n"
      "  headway cache export-mega warm.hwc -o artifacts.bin");
  verb->callback([options, &exit_code] { exit_code = export_blob(*options); });
}

}  // namespace headway::cli
