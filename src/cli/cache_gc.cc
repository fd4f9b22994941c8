// headway cache gc: thin out where jobs share archives.
#include <fmt/format.h>

#include <cstdio>

#include "base/clock.h"
#include "base/duration.h"
#include "cache/collect.h"
#include "cli/cache.h"
#include "cli/cache_shelf.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/size_option.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

struct Options {
  std::string place;
  std::string max_size, max_age;
  std::string key;
  TrustOptions trust;
  bool no_merge = false;
  bool dry_run = false;
  bool json = false;
};

Result<cache::CollectOptions> collect_options(const Options& options) {
  cache::CollectOptions collect;
  collect.now_ns = base::real_ns();
  collect.dry_run = options.dry_run;
  collect.threads = cache_threads();
  if (options.no_merge) collect.merge_min = 0;
  if (!options.max_size.empty()) {
    auto bytes = parse_size_option("--max-size", options.max_size);
    if (!bytes.ok()) return bytes.status();
    collect.bytes_max = *bytes;
  }
  if (!options.max_age.empty()) {
    const auto age_ns = base::parse_duration(options.max_age);
    if (!age_ns) {
      return Status::invalid(
          fmt::format("--max-age {}: write it like 12h or 30d", options.max_age));
    }
    collect.age_max_ns = *age_ns;
  }
  auto trust = make_trust(options.trust);
  if (!trust.ok()) return trust.status();
  collect.trust = std::move(*trust);
  return collect;
}

int execute(const Options& options) {
  auto collect = collect_options(options);
  if (!collect.ok()) return fail_cleanly(collect.status());
  auto key = find_key(options.key);
  if (!key.ok()) return fail_cleanly(key.status());
  if (*key) collect->key = &**key;
  if (is_missing_folder(options.place)) {
    return fail_cleanly(Status::not_found(fmt::format(
        "{}: there is no such folder; name the one that jobs share (`headway run --cache`)",
        options.place)));
  }
  auto shelf = open_shelf(options.place);
  if (!shelf.ok()) return fail_cleanly(shelf.status());
  auto scratch = ScratchFolder::make();
  if (!scratch.ok()) return fail_cleanly(scratch.status());
  auto done = cache::collect(*shelf->shelf, *collect, (*scratch)->path());
  if (!done.ok()) return fail_cleanly(done.status());
  const Style style = out_style();
  for (const std::string& note : done->notes) {
    fmt::print(stderr, "headway: {}\n", clean(note, style));
  }
  if (options.json) {
    return print_json({{"place", options.place},
                       {"dry_run", options.dry_run},
                       {"archives_before", done->archives_before},
                       {"archives_after", done->archives_after},
                       {"bytes_before", done->bytes_before},
                       {"bytes_after", done->bytes_after},
                       {"merged", done->merged},
                       {"removed", done->removed},
                       {"notes", done->notes}});
  }
  Page page(style);
  page.add_whole(
      Line()
          .add(clean(options.place, style), Ink::strong)
          .add(fmt::format(" {} {} of {}{} {} of {}", page.dot(),
                           plural(done->archives_before, "archive"),
                           human_bytes(done->bytes_before), options.dry_run ? " would be" : ", now",
                           human_count(done->archives_after), human_bytes(done->bytes_after))));
  if (done->merged > 0) {
    page.add("  " +
             (options.dry_run ? plural(done->merged, "of them would be", "of them would be")
                              : plural(done->merged, "of them is", "of them are")) +
             " in another one");
  }
  return print_out(page.text());
}

}  // namespace

void add_cache_gc(Verb& cache, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = cache.add_verb(
      "gc", "Thin out where jobs share archives: old ones go, small ones become one");
  verb->add_option("place", options->place,
                   "Folder that jobs share, s3://bucket/prefix, or a collector: http://host:8743")
      ->required()
      ->type_name("PLACE");
  verb->add_option("--max-size", options->max_size, "What is oldest goes until it is no more: 20G")
      ->type_name("SIZE");
  verb->add_option("--max-age", options->max_age, "What was put there longer ago goes: 30d")
      ->type_name("TIME");
  verb->add_flag("--no-merge", options->no_merge, "Leave archives of one binding apart");
  verb->add_flag("--dry-run", options->dry_run, "Only tell");
  add_key_option(*verb, options->key);
  add_trust_options(*verb, options->trust);
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Only what is trusted is merged, and there has to be a key to sign the result with.\n"
      "Example:\n"
      "  headway cache gc /shared/caches --max-age 30d --max-size 50G --dry-run");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
