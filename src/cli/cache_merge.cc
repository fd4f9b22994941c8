// headway cache merge: archives into one.
#include <fmt/format.h>

#include <cstdio>

#include "base/clock.h"
#include "cache/merge.h"
#include "cli/cache.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Status;

struct Options {
  std::vector<std::string> archives;
  std::string out;
  std::string key;
  TrustOptions trust;
  bool json = false;
};

// What is signed here would be trusted elsewhere: nothing is signed that is not trusted here.
Status check_sources(const std::vector<const cache::Archive*>& archives,
                     const TrustOptions& options) {
  auto trust = make_trust(options);
  if (!trust.ok()) return trust.status();
  for (const cache::Archive* archive : archives) {
    Status status = check_trust(archive->front(), *trust, archive->path());
    if (!status.ok()) return status;
  }
  return {};
}

// A block that is damaged is known by the index, and others may have what is in it. Without the
// index nobody knows what there was: to go on would be to lose it without a word.
Status without_index(const Status& status) {
  if (status.code() != base::Code::corrupt) return status;
  return Status::corrupt(status.message() +
                         "; nothing was merged, since nobody can vouch for what it held: leave it "
                         "out to merge the others");
}

int execute(const Options& options) {
  auto opened = open_archives(options.archives);
  if (!opened.ok()) return fail_cleanly(without_index(opened.status()));
  const auto archives = pointers(*opened);
  auto key = find_key(options.key);
  if (!key.ok()) return fail_cleanly(key.status());
  if (*key) {
    if (Status status = check_sources(archives, options.trust); !status.ok()) {
      return fail_cleanly(status);
    }
  }
  std::uint64_t bytes = 0;
  for (const cache::Archive* archive : archives) bytes += archive->index().stored_bytes();
  ProgressBar bar("merge " + options.out, bytes);
  auto merged = cache::merge_archives(
      base::real_file_system(), archives, options.out,
      {.key = *key ? &**key : nullptr, .created_ns = base::real_ns(), .progress = bar.callback()});
  bar.clear();
  if (!merged.ok()) return fail_cleanly(merged.status());
  for (const std::string& one : merged->damaged) {
    fmt::print(stderr, "headway: {}; the others have what it lacks\n", clean(one, out_style()));
  }
  if (options.json) {
    return print_json({{"path", options.out},
                       {"archives", archives.size()},
                       {"entries", merged->entries},
                       {"contents", merged->contents},
                       {"same", merged->same},
                       {"replaced", merged->replaced},
                       {"replaced_paths", merged->replaced_paths},
                       {"raw_bytes", merged->raw_bytes},
                       {"file_bytes", merged->file_bytes},
                       {"copied_bytes", merged->copied_bytes},
                       {"damaged", merged->damaged},
                       {"signed", key->has_value()},
                       {"content", merged->content}});
  }
  const Style style = out_style();
  Page page(style);
  page.add_whole(
      Line()
          .add(clean(options.out, style), Ink::strong)
          .add(fmt::format(" {} {} of {} {} {} in {}", page.dot(),
                           plural(merged->entries, "entry", "entries"),
                           plural(archives.size(), "archive"), page.dot(),
                           human_bytes(merged->raw_bytes), human_bytes(merged->file_bytes))));
  if (merged->replaced > 0) {
    page.add(
        fmt::format("  {} had several contents, the newest was taken: {}{}", merged->replaced,
                    clean(merged->replaced_paths[0], style), merged->replaced > 1 ? ", ..." : ""),
        Ink::wasted);
  }
  return print_out(page.text());
}

}  // namespace

void add_cache_merge(Verb& cache, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = cache.add_verb("merge", "Unite archives of one binding: every entry of all of them");
  verb->add_option("archive", options->archives, "Archives")->required()->type_name("X.hwc");
  verb->add_option("-o,--out", options->out, "The new archive; may be one of the others")
      ->required()
      ->type_name("Y.hwc");
  add_key_option(*verb, options->key);
  add_trust_options(*verb, options->trust);
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Where two have another content under one path, the newest is taken, and told. Only what is\n"
      "trusted is signed. What a damaged block held is taken from another archive; an archive "
      "that\n"
      "is cut off, or whose head or index is damaged, is an error: leave it out.\n"
      "Example:\n"
      "  headway cache merge rank-*.hwc -o warm.hwc");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
