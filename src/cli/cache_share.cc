// headway cache push and pull: archives to and from where jobs share them.
#include <fmt/format.h>

#include <cstdio>

#include "cache/restore.h"
#include "cache/share.h"
#include "cli/cache.h"
#include "cli/cache_shelf.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Status;

struct PushOptions {
  std::vector<std::string> archives;
  std::string place;
  bool json = false;
};

struct PullOptions {
  std::string place;
  std::string directory;
  TrustOptions trust;
  BindingOptions binding;
  cache::PullLimits limits;
  std::string pgo_job;
  std::optional<std::uint32_t> pgo_ranks;
  bool json = false;
};

int push(const PushOptions& options) {
  auto archives = open_archives(options.archives);
  if (!archives.ok()) return fail_cleanly(archives.status());
  auto shelf = open_shelf(options.place);
  if (!shelf.ok()) return fail_cleanly(shelf.status());
  const Style style = out_style();
  Json list = Json::array();
  Page page(style);
  for (const auto& archive : *archives) {
    auto pushed = cache::push(*archive, *shelf->shelf, cache_threads());
    if (!pushed.ok()) return fail_cleanly(pushed.status());
    list.push_back({{"path", archive->path()},
                    {"place", pushed->place},
                    {"pushed", !pushed->was_there},
                    {"bytes", archive->file_bytes()}});
    page.add_whole(Line()
                       .add(clean(pushed->place, style), Ink::strong)
                       .add(fmt::format(" {} ", page.dot()))
                       .add(pushed->was_there ? "was there already" : "pushed", Ink::effective)
                       .add(fmt::format(" {} {}", page.dot(), human_bytes(archive->file_bytes()))));
    if (!archive->front().signer) {
      fmt::print(stderr, "headway: {} is not signed: pull passes it over unless told --unsigned\n",
                 archive->path());
    }
  }
  return options.json ? print_json({{"archives", list}}) : print_out(page.text());
}

base::Result<cache::Unpacked> unpack(const PullOptions& options, const cache::Pulled& pulled,
                                     const std::string& directory, const std::string& environment) {
  std::optional<cache::PgoRule> rule;
  if (!options.pgo_job.empty()) {
    auto parsed = cache::parse_pgo_rule(options.pgo_job);
    if (!parsed.ok()) return parsed.status();
    rule = std::move(*parsed);
    rule->ranks = options.pgo_ranks;
  }
  if (pulled.archives.empty()) return cache::Unpacked{};
  std::uint64_t bytes = 0;
  for (const auto& archive : pulled.archives) bytes += archive->index().entry_bytes();
  ProgressBar bar("unpack", bytes);
  return cache::restore(directory, pointers(pulled.archives), rule,
                        {.threads = cache_threads(),
                         .overwrite = false,
                         .progress = bar.callback(),
                         .environment = environment});
}

// Somebody thinned out the shelf while we read: what took the archive's place is there by now.
bool is_gone(const Status& status) {
  return status.code() == base::Code::not_found || status.code() == base::Code::corrupt;
}

// How well it fits, where that is not perfectly.
void note_match(const cache::Pulled& pulled, const cache::Binding& here,
                const cache::Unpacked& done) {
  if (pulled.archives.empty()) {
    if (pulled.unfit == 0) return;
    fmt::print(stderr, "headway: nothing there fits: {} of another binding, {}\n",
               plural(pulled.unfit, "archive"), clean(pulled.unfit_why, out_style()));
    return;
  }
  if (pulled.family != here.family) {
    fmt::print(stderr, "headway: nothing of family {} fits: taken from family {}\n", here.family,
               pulled.family);
  }
  note_missed(done, pulled.archives[0]->binding(), here.environment);
}

int pull(const PullOptions& options) {
  auto shelf = open_shelf(options.place);
  if (!shelf.ok()) return fail_cleanly(shelf.status());
  auto trust = make_trust(options.trust);
  if (!trust.ok()) return fail_cleanly(trust.status());
  auto binding = make_binding(options.binding);
  if (!binding.ok()) return fail_cleanly(binding.status());
  auto scratch = ScratchFolder::make();
  if (!scratch.ok()) return fail_cleanly(scratch.status());
  const std::string directory =
      options.directory.empty() ? default_cache_directory() : options.directory;
  auto pulled = cache::pull(*shelf->shelf, *binding, *trust, options.limits, (*scratch)->path(),
                            cache_threads());
  if (!pulled.ok()) return fail_cleanly(pulled.status());
  auto done = unpack(options, *pulled, directory, binding->environment);
  if (!done.ok() && is_gone(done.status())) {
    pulled = cache::pull(*shelf->shelf, *binding, *trust, options.limits, (*scratch)->path(),
                         cache_threads());
    if (!pulled.ok()) return fail_cleanly(pulled.status());
    done = unpack(options, *pulled, directory, binding->environment);
  }
  const Style style = out_style();
  for (const std::string& note : pulled->notes) {
    fmt::print(stderr, "headway: passed over: {}\n", clean(note, style));
  }
  if (!done.ok()) return fail_cleanly(done.status());
  note_match(*pulled, *binding, *done);
  const bool is_missing = pulled->archives.empty() && is_missing_folder(options.place);
  if (is_missing) {
    fmt::print(stderr,
               "headway: {0}: there is no such folder, so nothing was pulled; `headway cache push "
               "X.hwc --to {0}` makes it\n",
               clean(options.place, style));
  }
  if (options.json) {
    return print_json({{"directory", directory},
                       {"archives", pulled->archives.size()},
                       {"family", pulled->family},
                       {"same_binding", pulled->same_binding},
                       {"same_environment", pulled->same_environment},
                       {"unfit", pulled->unfit},
                       {"unfit_why", pulled->unfit_why},
                       {"bytes", pulled->bytes},
                       {"beyond", pulled->beyond},
                       {"passed_over", pulled->notes},
                       {"written", done->written},
                       {"written_bytes", done->written_bytes},
                       {"same", done->same},
                       {"kept", done->kept},
                       {"rekeyed", done->rekeyed},
                       {"missed", done->missed}});
  }
  if (is_missing) return kExitOk;
  Page page(style);
  Line line;
  line.add(clean(directory, style), Ink::strong);
  line.add(fmt::format(" {} {} of {} from {}", page.dot(), plural(done->written, "file"),
                       human_bytes(done->written_bytes),
                       plural(pulled->archives.size(), "archive")));
  if (done->same > 0) {
    line.add(fmt::format(" {} {} there", page.dot(), plural(done->same, "was", "were")));
  }
  if (pulled->beyond > 0) {
    line.add(fmt::format(" {} {} more beyond the limits", page.dot(), human_count(pulled->beyond)));
  }
  page.add_whole(line);
  return print_out(page.text());
}

}  // namespace

void add_cache_push(Verb& cache, int& exit_code) {
  auto options = std::make_shared<PushOptions>();
  Verb* verb = cache.add_verb("push", "Put archives where other jobs find them");
  verb->add_option("archive", options->archives, "Archives")->required()->type_name("X.hwc");
  verb->add_option("--to", options->place,
                   "Folder that jobs share, s3://bucket/prefix, or a collector: http://host:8743")
      ->required()
      ->type_name("PLACE");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "An archive's name there is made of what it is bound to and what it holds: jobs that push "
      "at\n"
      "once do not overwrite one another.\n"
      "Example:\n"
      "  headway cache push warm.hwc --to s3://models/caches");
  verb->callback([options, &exit_code] { exit_code = push(*options); });
}

void add_cache_pull(Verb& cache, int& exit_code) {
  auto options = std::make_shared<PullOptions>();
  Verb* verb =
      cache.add_verb("pull", "Unpack what fits this machine best from where jobs share archives");
  verb->add_option("place", options->place,
                   "Folder that jobs share, s3://bucket/prefix, or a collector: http://host:8743")
      ->required()
      ->type_name("PLACE");
  verb->add_option("--to", options->directory,
                   "Cache directory (default: $TORCHINDUCTOR_CACHE_DIR, else where torch puts it)")
      ->type_name("DIR");
  add_trust_options(*verb, options->trust);
  add_binding_options(*verb, options->binding);
  verb->add_option("--max-archives", options->limits.archives_max,
                   "No more than so many, the largest (default: 64)")
      ->positive()
      ->type_name("N");
  verb->add_option("--max-bytes", options->limits.bytes_max,
                   "No more than so many bytes of archives (default: 4 GiB)")
      ->positive()
      ->type_name("BYTES");
  verb->add_option("--pgo-job", options->pgo_job, "As of `unpack`")->type_name("OLD=NEW");
  verb->add_option("--pgo-ranks", options->pgo_ranks, "As of `unpack`")
      ->range(0, cache::pgo_ranks_max)
      ->type_name("N");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "An archive that is damaged, or of somebody whom nobody trusts, costs a note and not the "
      "job.\n"
      "Example:\n"
      "  headway cache pull s3://models/caches --family ctr");
  verb->callback([options, &exit_code] { exit_code = pull(*options); });
}

}  // namespace headway::cli
