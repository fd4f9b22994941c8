// The verbs of `headway cache`, one file each, and what they share.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cache/archive.h"
#include "cache/binding.h"
#include "cache/keys.h"
#include "cache/unpack.h"
#include "cli/command_line.h"
#include "cli/page.h"
#include "cli/style.h"

namespace headway::cli {

using Json = nlohmann::ordered_json;

void add_cache_pack(Verb& cache, int& exit_code);
void add_cache_unpack(Verb& cache, int& exit_code);
void add_cache_ls(Verb& cache, int& exit_code);
void add_cache_merge(Verb& cache, int& exit_code);
void add_cache_diff(Verb& cache, int& exit_code);
void add_cache_verify(Verb& cache, int& exit_code);
void add_cache_keygen(Verb& cache, int& exit_code);
void add_cache_push(Verb& cache, int& exit_code);
void add_cache_pull(Verb& cache, int& exit_code);
void add_cache_gc(Verb& cache, int& exit_code);
void add_cache_keep(Verb& cache, int& exit_code);
void add_cache_import_mega(Verb& cache, int& exit_code);
void add_cache_export_mega(Verb& cache, int& exit_code);

// What an archive is bound to, as the caller says and this machine is.
struct BindingOptions {
  std::string python;                                     // to ask
  std::string torch, torch_git, python_tag, environment;  // given: nobody is asked for it
  std::string family, gpu;
};
void add_binding_options(Verb& verb, BindingOptions& options);
// For who only reads: without what only a new archive, or a choice of archives, needs.
void add_reader_binding_options(Verb& verb, BindingOptions& options);
// The processor, and the torch that --python has. Made now.
base::Result<cache::Binding> make_binding(const BindingOptions& options);
// For who only reads: torch is compared where it was named, the processor always.
base::Result<cache::Binding> binding_here(const BindingOptions& options);

// Whose archives count.
struct TrustOptions {
  std::vector<std::string> trusted;  // files or folders
  bool unsigned_too = false;
  bool offers_unsigned = false;  // the verb has these options
};
void add_trust_options(Verb& verb, TrustOptions& options);
base::Result<cache::Trust> make_trust(const TrustOptions& options);
// Where to put a public key that is to be trusted: "a .pem file in FOLDER", or a file.
[[nodiscard]] std::string trusted_place(const TrustOptions& options);

// --key, else $HEADWAY_CACHE_KEY, else the default place; none: there is no key.
void add_key_option(Verb& verb, std::string& path);
base::Result<std::optional<cache::SigningKey>> find_key(const std::string& path);
[[nodiscard]] std::string default_key_path();

// What every verb asks for that makes an archive of something: -o, --key, the binding, --json.
struct MakeOptions {
  std::string out;
  std::string key;
  BindingOptions binding;
  bool json = false;
};
void add_make_options(Verb& verb, MakeOptions& options);
// To stderr: the new archive is not signed.
void note_unsigned();

// $TORCHINDUCTOR_CACHE_DIR, else where torch puts it.
[[nodiscard]] std::string default_cache_directory();
[[nodiscard]] std::size_t cache_threads();

// Opened, and all of the front checked.
base::Result<std::vector<std::unique_ptr<cache::Archive>>> open_archives(
    const std::vector<std::string>& paths);
[[nodiscard]] std::vector<const cache::Archive*> pointers(
    const std::vector<std::unique_ptr<cache::Archive>>& archives);

// To stderr: libraries of another environment that will be compiled again, and why.
void note_missed(const cache::Unpacked& done, const cache::Binding& archive,
                 const std::string& environment);

// "signed by 0123…" or "not signed".
[[nodiscard]] std::string signer_text(const cache::Front& front);
[[nodiscard]] Json to_json(const cache::Binding& binding);

}  // namespace headway::cli
