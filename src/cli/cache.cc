// headway cache: what torch's compiler made, in one file that other machines can start with.
#include "cli/cache.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/clock.h"
#include "cache/cpu.h"
#include "cache/gpu.h"
#include "cli/cache_python.h"
#include "cli/gpu_memo.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

constexpr std::size_t kThreadsMax = 8;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string config_folder() {
  const std::string config = variable("XDG_CONFIG_HOME");
  return (config.empty() ? variable("HOME") + "/.config" : config) + "/headway";
}

bool is_there(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

bool is_file(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

// --trusted, else the variable; none: the folder of the configuration, if it is there.
std::vector<std::string> named_trusted(const TrustOptions& options) {
  if (!options.trusted.empty()) return options.trusted;
  const std::string named = variable("HEADWAY_CACHE_TRUSTED");
  return named.empty() ? std::vector<std::string>() : std::vector{named};
}

Status add_trusted(const std::string& path, cache::Trust& trust) {
  auto keys = cache::read_trusted_keys(path);
  if (!keys.ok()) return keys.status();
  trust.keys.insert(trust.keys.end(), keys->begin(), keys->end());
  return {};
}

// Where something was named nobody is asked.
Status add_torch(const BindingOptions& options, cache::Binding& binding) {
  binding.torch = options.torch;
  binding.torch_git = options.torch_git;
  binding.python = options.python_tag;
  binding.environment = options.environment;
  const bool all = !binding.torch.empty() && !binding.python.empty() &&
                   !binding.environment.empty() && options.python.empty();
  if (all) return {};
  auto facts = ask_for_torch(options.python);
  if (!facts.ok()) return facts.status();
  const auto fill = [](std::string& text, const std::string& by) {
    if (text.empty()) text = by;
  };
  fill(binding.torch, facts->torch);
  fill(binding.torch_git, facts->torch_git);
  fill(binding.python, facts->python);
  fill(binding.environment, facts->environment);
  return {};
}

// A torch that makes no code for GPUs is bound to none.
std::string gpu_for(const BindingOptions& options, const cache::Binding& binding) {
  if (options.gpu == "none") return "";
  if (!options.gpu.empty() || !cache::is_for_gpus(binding.torch)) return options.gpu;
  return remembered_gpu(default_memory_folder());
}

// All but the family.
void add_machine_options(Verb& verb, BindingOptions& options, const std::string& of_python) {
  verb.add_option("--python", options.python, of_python)->type_name("PYTHON");
  verb.add_option("--torch", options.torch, "Version of torch, where no Python is to be asked")
      ->type_name("V");
  verb.add_option("--torch-git", options.torch_git, "Commit that this torch was built from")
      ->type_name("SHA");
  verb.add_option("--python-tag", options.python_tag, "Like cpython-311")->type_name("TAG");
  verb.add_option("--environment", options.environment, "Folder that torch is installed in")
      ->type_name("DIR");
  verb.add_option(
          "--gpu", options.gpu,
          "Kind of GPU, like sm_90, or none (default: this machine's, if torch is for GPUs)")
      ->type_name("ARCH");
}

}  // namespace

void add_binding_options(Verb& verb, BindingOptions& options) {
  add_machine_options(verb, options,
                      "Python whose torch the cache is of (default: the one that `run` takes)");
  verb.add_option("--family", options.family, "Jobs that share caches (default: default)")
      ->type_name("NAME");
}

void add_reader_binding_options(Verb& verb, BindingOptions& options) {
  add_machine_options(verb, options,
                      "Python whose torch must be the archive's (default: torch is not compared)");
}

Result<cache::Binding> make_binding(const BindingOptions& options) {
  cache::Binding binding;
  if (Status status = cache::add_this_cpu(binding); !status.ok()) return status;
  if (Status status = add_torch(options, binding); !status.ok()) return status;
  binding.gpu = gpu_for(options, binding);
  binding.family = options.family.empty() ? "default" : options.family;
  if (!cache::is_family(binding.family)) {
    return Status::invalid(
        fmt::format("--family {}: up to 100 letters, digits, '-', '_' and '.'", binding.family));
  }
  binding.created_ns = base::real_ns();
  // What a reader would refuse is told to the writer.
  auto checked = cache::parse_binding(cache::to_text(binding), "--torch, --gpu, --family");
  if (!checked.ok()) return checked.status();
  return checked;
}

Result<cache::Binding> binding_here(const BindingOptions& options) {
  cache::Binding binding;
  if (Status status = cache::add_this_cpu(binding); !status.ok()) return status;
  binding.torch = options.torch;
  binding.torch_git = options.torch_git;
  binding.python = options.python_tag;
  binding.environment = options.environment;
  binding.gpu = options.gpu == "none" ? "" : options.gpu;
  if (options.python.empty()) return binding;
  if (Status status = add_torch(options, binding); !status.ok()) return status;
  binding.gpu = gpu_for(options, binding);
  return binding;
}

void add_trust_options(Verb& verb, TrustOptions& options) {
  verb.add_option("--trusted", options.trusted,
                  "Public keys, a file or a folder (default: $HEADWAY_CACHE_TRUSTED, else "
                  "~/.config/headway/trusted)")
      ->type_name("PATH");
  verb.add_flag("--unsigned", options.unsigned_too,
                "Also what nobody trusted has signed: it is code, and will be executed");
  options.offers_unsigned = true;
}

std::string trusted_place(const TrustOptions& options) {
  const std::vector<std::string> named = named_trusted(options);
  const std::string place = named.empty() ? config_folder() + "/trusted" : named[0];
  return is_file(place) ? place : "a .pem file in " + place;
}

Result<cache::Trust> make_trust(const TrustOptions& options) {
  cache::Trust trust{.keys = {},
                     .unsigned_too = options.unsigned_too,
                     .place = trusted_place(options),
                     .offers_unsigned = options.offers_unsigned};
  std::vector<std::string> places = named_trusted(options);
  if (places.empty() && is_there(config_folder() + "/trusted")) {
    places.push_back(config_folder() + "/trusted");
  }
  for (const std::string& place : places) {
    if (Status status = add_trusted(place, trust); !status.ok()) return status;
  }
  // Who has the private half has packed it.
  auto own = find_key("");
  if (own.ok() && *own) trust.keys.push_back((**own).public_key());
  return trust;
}

void add_key_option(Verb& verb, std::string& path) {
  verb.add_option("--key", path,
                  "Private key to sign with (default: $HEADWAY_CACHE_KEY, else "
                  "~/.config/headway/cache-key.pem if it is there)")
      ->type_name("FILE");
}

void add_make_options(Verb& verb, MakeOptions& options) {
  verb.add_option("-o,--out", options.out, "The archive; one that is there is replaced")
      ->required()
      ->type_name("X.hwc");
  add_key_option(verb, options.key);
  add_binding_options(verb, options.binding);
  verb.add_flag("--json", options.json, "Print a JSON object for programs");
}

void note_unsigned() {
  fmt::print(stderr,
             "headway: the archive is not signed: `headway cache keygen` makes a key to sign "
             "with\n");
}

std::string default_key_path() {
  const std::string named = variable("HEADWAY_CACHE_KEY");
  return named.empty() ? config_folder() + "/cache-key.pem" : named;
}

Result<std::optional<cache::SigningKey>> find_key(const std::string& path) {
  const bool named = !path.empty() || !variable("HEADWAY_CACHE_KEY").empty();
  const std::string place = path.empty() ? default_key_path() : path;
  if (!named && !is_there(place)) return std::optional<cache::SigningKey>();
  auto key = cache::read_signing_key(place);
  if (!key.ok()) return key.status();
  return std::optional(std::move(*key));
}

std::string default_cache_directory() {
  const std::string named = variable("TORCHINDUCTOR_CACHE_DIR");
  if (!named.empty()) return named;
  // As getpass.getuser() and tempfile.gettempdir() find them.
  std::string user;
  for (const char* name : {"LOGNAME", "USER", "LNAME", "USERNAME"}) {
    if (user.empty()) user = variable(name);
  }
  if (user.empty()) {
    const passwd* entry = ::getpwuid(::getuid());
    user = entry != nullptr ? entry->pw_name : fmt::format("uid_{}", ::getuid());
  }
  for (char& c : user) {
    if (std::string_view("\\/:*?\"<>|").find(c) != std::string_view::npos) c = '_';
  }
  for (const char* name : {"TMPDIR", "TEMP", "TMP"}) {
    if (!variable(name).empty()) return variable(name) + "/torchinductor_" + user;
  }
  return "/tmp/torchinductor_" + user;
}

std::size_t cache_threads() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kThreadsMax);
}

Result<std::vector<std::unique_ptr<cache::Archive>>> open_archives(
    const std::vector<std::string>& paths) {
  std::vector<std::unique_ptr<cache::Archive>> archives;
  for (const std::string& path : paths) {
    auto archive = cache::Archive::open(base::real_file_system(), path);
    if (!archive.ok()) return archive.status();
    archives.push_back(std::move(*archive));
  }
  return archives;
}

std::vector<const cache::Archive*> pointers(
    const std::vector<std::unique_ptr<cache::Archive>>& archives) {
  std::vector<const cache::Archive*> list;
  for (const auto& archive : archives) list.push_back(archive.get());
  return list;
}

void note_missed(const cache::Unpacked& done, const cache::Binding& archive,
                 const std::string& environment) {
  if (done.missed == 0) return;
  fmt::print(stderr,
             "headway: {} will be compiled again, being for torch in {}, and here it is in {}{}\n",
             plural(done.missed, "library", "libraries"), archive.environment, environment,
             archive.commands.empty() ? "; `headway cache pack --relocatable` there helps" : "");
}

std::string signer_text(const cache::Front& front) {
  return front.signer ? "signed by " + cache::short_name(*front.signer) : "not signed";
}

Json to_json(const cache::Binding& binding) {
  return Json::parse(cache::to_text(binding));
}

void add_cache(Verb& app, int& exit_code) {
  Verb* cache = app.add_verb(
      "cache", "Keep what torch's compiler made: pack, share and unpack compile caches");
  cache->require_verb();
  for (const auto add :
       {add_cache_pack, add_cache_unpack, add_cache_ls, add_cache_diff, add_cache_verify,
        add_cache_merge, add_cache_push, add_cache_pull, add_cache_gc, add_cache_import_mega,
        add_cache_export_mega, add_cache_keygen, add_cache_keep}) {
    add(*cache, exit_code);
  }
  cache->footer(
      "Examples:\n"
      "  headway cache keygen                       # once: archives are signed\n"
      "  headway cache pack -o warm.hwc             # after a first run\n"
      "  headway cache unpack warm.hwc              # before the next, elsewhere\n"
      "  headway cache ls warm.hwc");
}

}  // namespace headway::cli
