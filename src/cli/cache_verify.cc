// headway cache verify: is every byte of an archive as it was written, and by whom?
#include <fmt/format.h>

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
  TrustOptions trust;
  bool json = false;
};

struct Verdict {
  Status state;  // of the bytes
  Status trust;
  std::optional<cache::PublicKey> signer;
  std::uint64_t bytes = 0;
};

Verdict judge(const std::string& path, const cache::Trust& trust) {
  Verdict verdict;
  auto archive = cache::Archive::open(base::real_file_system(), path);
  verdict.state = archive.status();
  if (!archive.ok()) return verdict;
  verdict.signer = (*archive)->front().signer;
  verdict.bytes = (*archive)->file_bytes();
  verdict.trust = check_trust((*archive)->front(), trust, path);
  ProgressBar bar("verify " + path, (*archive)->index().stored_bytes());
  verdict.state = (*archive)->verify(cache_threads(), true, bar.callback());
  return verdict;
}

int execute(const Options& options) {
  auto trust = make_trust(options.trust);
  if (!trust.ok()) return fail_cleanly(trust.status());
  const Style style = out_style();
  bool good = true;
  Json list = Json::array();
  for (const std::string& path : options.archives) {
    const Verdict verdict = judge(path, *trust);
    // A file that cannot be read at all is no damaged archive.
    const base::Code code = verdict.state.code();
    if (code == base::Code::not_found || code == base::Code::io_error) {
      return fail_cleanly(verdict.state);
    }
    const bool fine = verdict.state.ok() && verdict.trust.ok();
    good &= fine;
    const std::string why = verdict.state.ok() ? verdict.trust.message() : verdict.state.message();
    if (options.json) {
      list.push_back({{"path", path},
                      {"good", verdict.state.ok()},
                      {"trusted", verdict.trust.ok() && verdict.state.ok()},
                      {"signer", verdict.signer ? Json(base::hex(*verdict.signer)) : Json()},
                      {"bytes", verdict.bytes},
                      {"why", why}});
      continue;
    }
    Page page(style);
    Line line;
    line.add(clean(path, style), Ink::strong).add(fmt::format(" {} ", page.dot()));
    line.add(!verdict.state.ok() ? "damaged"
             : fine              ? "good and trusted"
                                 : "good, not trusted",
             fine ? Ink::effective : Ink::down);
    page.add_whole(line);
    if (!fine) {
      page.add_whole(Line().add("  ").add(
          clean(why.starts_with(path + ": ") ? why.substr(path.size() + 2) : why, style)));
    }
    if (const int printed = print_out(page.text()); printed != kExitOk) return printed;
  }
  if (options.json) {
    const int printed = print_json({{"good", good}, {"archives", list}});
    if (printed != kExitOk) return printed;
  }
  return good ? kExitOk : kExitCheckFailed;
}

}  // namespace

void add_cache_verify(Verb& cache, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = cache.add_verb("verify", "Compare every byte with its digest, and the signature");
  verb->add_option("archive", options->archives, "Archives")->required()->type_name("X.hwc");
  add_trust_options(*verb, options->trust);
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Exit code 1 where one is damaged or not trusted.\n"
      "Example:\n"
      "  headway cache verify warm.hwc && headway cache unpack warm.hwc");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
