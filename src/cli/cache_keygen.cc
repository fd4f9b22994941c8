// headway cache keygen: a key to sign archives with, or the public half of the one that is there.
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
  bool only_public = false;
  bool json = false;
};

base::Result<cache::SigningKey> make_key(const std::string& path) {
  auto key = cache::SigningKey::make();
  if (!key.ok()) return key.status();
  base::Status status = base::make_dirs(base::folder_of(path));
  if (status.ok()) status = cache::write_signing_key(path, *key);
  if (!status.ok()) return status;
  return key;
}

base::Result<cache::SigningKey> key_there(const std::string& path) {
  auto key = cache::read_signing_key(path);
  if (key.status().code() != base::Code::not_found) return key;
  return base::Status::not_found(path + ": there is no key; `headway cache keygen` makes one");
}

int execute(const Options& options) {
  const std::string path = options.path.empty() ? default_key_path() : options.path;
  auto key = options.only_public ? key_there(path) : make_key(path);
  if (!key.ok()) return fail_cleanly(key.status());
  const std::string pem = cache::public_pem(key->public_key());
  if (options.json) {
    return print_json(
        {{"path", path}, {"public_key", base::hex(key->public_key())}, {"public_pem", pem}});
  }
  if (!options.only_public) {
    fmt::print(stderr,
               "headway: the private key is in {}; who is to trust it puts this public one into "
               "{}; $HEADWAY_CACHE_TRUSTED names another place\n",
               path, trusted_place({}));
  }
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
  verb->add_flag("--public", options->only_public,
                 "Make none: print the public half of the key that is there");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Whoever has the private key can have code executed where the public one is trusted.\n"
      "Examples:\n"
      "  headway cache keygen --public      # of a key that is there, as `headway run` makes one\n"
      "  headway cache keygen > team.pem    # give team.pem to those who unpack");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
