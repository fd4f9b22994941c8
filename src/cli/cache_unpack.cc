// headway cache unpack: archives into a cache directory.
#include <fmt/format.h>

#include <cstdio>

#include "cache/restore.h"
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
  std::string directory;
  TrustOptions trust;
  BindingOptions binding;
  std::string pgo_job;
  std::optional<std::uint32_t> pgo_ranks;
  bool overwrite = false;
  bool json = false;
};

Status check(const std::vector<const cache::Archive*>& archives, const Options& options,
             const cache::Binding& here) {
  auto trust = make_trust(options.trust);
  if (!trust.ok()) return trust.status();
  for (const cache::Archive* archive : archives) {
    Status status = check_trust(archive->front(), *trust, archive->path());
    if (status.ok()) status = check_fits(archive->binding(), here, archive->path());
    if (!status.ok()) return status;
  }
  return cache::check_same_binding(archives);
}

base::Result<std::optional<cache::PgoRule>> rule_of(const Options& options) {
  if (options.pgo_job.empty()) {
    if (!options.pgo_ranks) return std::optional<cache::PgoRule>();
    return Status::invalid("--pgo-ranks: of which job? Add --pgo-job OLD=NEW");
  }
  auto rule = cache::parse_pgo_rule(options.pgo_job);
  if (!rule.ok()) return rule.status();
  rule->ranks = options.pgo_ranks;
  return std::optional(std::move(*rule));
}

// Nobody has said which torch it is for: that it is this one is for the caller to know.
void note_not_compared(const cache::Binding& archive, const cache::Binding& here) {
  if (!here.torch.empty() || !here.torch_git.empty() || !here.python.empty()) return;
  const Style style = out_style();
  fmt::print(stderr,
             "headway: not compared with any torch: what was unpacked is for torch {} of {}; "
             "--python PYTHON compares it with that Python's\n",
             clean(archive.torch, style), clean(archive.python, style));
}

int execute(const Options& options) {
  auto rule = rule_of(options);
  if (!rule.ok()) return fail_cleanly(rule.status());
  auto opened = open_archives(options.archives);
  if (!opened.ok()) return fail_cleanly(opened.status());
  const auto archives = pointers(*opened);
  auto here = binding_here(options.binding);
  if (!here.ok()) return fail_cleanly(here.status());
  if (Status status = check(archives, options, *here); !status.ok()) return fail_cleanly(status);
  const std::string directory =
      options.directory.empty() ? default_cache_directory() : options.directory;
  std::uint64_t bytes = 0;
  for (const cache::Archive* archive : archives) bytes += archive->index().entry_bytes();
  ProgressBar bar("unpack " + options.archives[0], bytes);
  auto done = cache::restore(directory, archives, *rule,
                             {.threads = cache_threads(),
                              .overwrite = options.overwrite,
                              .progress = bar.callback(),
                              .environment = here->environment});
  bar.clear();
  if (!done.ok()) return fail_cleanly(done.status());
  note_not_compared(archives[0]->binding(), *here);
  note_missed(*done, archives[0]->binding(), here->environment);
  if (options.json) {
    return print_json({{"directory", directory},
                       {"written", done->written},
                       {"written_bytes", done->written_bytes},
                       {"same", done->same},
                       {"kept", done->kept},
                       {"damaged", done->damaged},
                       {"rekeyed", done->rekeyed},
                       {"missed", done->missed}});
  }
  const Style style = out_style();
  Page page(style);
  Line line;
  line.add(clean(directory, style), Ink::strong);
  line.add(fmt::format(" {} {} of {} written", page.dot(), plural(done->written, "file"),
                       human_bytes(done->written_bytes)));
  if (done->same > 0) {
    line.add(fmt::format(" {} {} there", page.dot(), plural(done->same, "was", "were")));
  }
  if (done->kept > 0) {
    line.add(fmt::format(" {} {}", page.dot(),
                         plural(done->kept, "differs and stays", "differ and stay")));
  }
  if (done->damaged > 0) {
    line.add(fmt::format(" {} {} damaged and left out", page.dot(),
                         plural(done->damaged, "library is", "libraries are")));
  }
  page.add_whole(line);
  return print_out(page.text());
}

}  // namespace

void add_cache_unpack(Verb& cache, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb =
      cache.add_verb("unpack", "Unpack archives into a cache directory, before a job starts");
  verb->add_option("archive", options->archives, "Archives; of several the newest entry counts")
      ->required()
      ->type_name("X.hwc");
  verb->add_option("--to", options->directory,
                   "Cache directory (default: $TORCHINDUCTOR_CACHE_DIR, else where torch puts it)")
      ->type_name("DIR");
  add_trust_options(*verb, options->trust);
  add_reader_binding_options(*verb, options->binding);
  verb->add_option("--pgo-job", options->pgo_job,
                   "What job OLD learned of dynamic shapes is also for NEW "
                   "($TORCH_COMPILE_JOB_ID); OLD may be *")
      ->type_name("OLD=NEW");
  verb->add_option("--pgo-ranks", options->pgo_ranks,
                   "Ranks of NEW: each that has none gets one (0: no process group)")
      ->range(0, cache::pgo_ranks_max)
      ->type_name("N");
  verb->add_flag("--overwrite", options->overwrite,
                 "Replace files that differ (default: only damaged ones)");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Nothing is written before the signature and every block have been checked. Files that are\n"
      "there with the same content are not touched; two at once do the work once.\n"
      "Example:\n"
      "  headway cache unpack warm.hwc --to /tmp/torchinductor_me");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
