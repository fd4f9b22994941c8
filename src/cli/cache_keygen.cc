// headway cache keygen: a key to sign archives with.
#include <fmt/format.h>

#include <cstdio>

#include "base/file.h"
#include "base/file_system.h"
#include "cli/cache.h"
#include "cli/output.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

struct Options {
  std::string path;
  bool json = false;
};

int execute(const Options& options) {
  const std::string path = options.path.empty() ? default_key_path() : options.path;
  auto key = cache::SigningKey::make();
  if (!key.ok()) return fail_cleanly(key.status());
  base::Status status = base::make_dirs(base::folder_of(path));
  if (status.ok()) status = cache::write_signing_key(path, *key);
  if (!status.ok()) return fail_cleanly(status);
  const std::string pem = cache::public_pem(key->public_key());
  if (options.json) {
    return print_json(
        {{"path", path}, {"public_key", base::hex(key->public_key())}, {"public_pem", pem}});
  }
  fmt::print(stderr,
             "headway: the private key is in {}; who is to trust it puts this public one into a "
             "file of ~/.config/headway/trusted or $HEADWAY_CACHE_TRUSTED\n",
             path);
  return print_out(pem);
}

}  // namespace

void add_cache_keygen(Verb& cache, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb =
      cache.add_verb("keygen", "Make a key to sign archives with, and print its public half");
  verb->add_option("file", options->path,
                   "Private key (default: $HEADWAY_CACHE_KEY, else "
                   "~/.config/headway/cache-key.pem)")
      ->type_name("FILE");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Whoever has the private key can have code executed where the public one is trusted.\n"
      "Example:\n"
      "  headway cache keygen > team.pem    # give team.pem to those who unpack");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
