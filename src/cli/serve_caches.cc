#include "cli/serve_caches.h"

#include <filesystem>

#include "cli/size_option.h"
#include "store/postgres_address.h"

namespace headway::cli {

using base::Status;

namespace {

constexpr const char* kUseStore =
    "this collector shares its database with others, and a disk is seen by one: keep compile "
    "caches in an object store (--cache s3://bucket/prefix)";
constexpr std::uint64_t kLeast = 1 << 20;

}  // namespace

void add_serve_caches_options(Verb& verb, ServeCachesOptions& options) {
  verb.add_option("--caches", options.folder,
                  "Where compile caches are kept that jobs share (`headway run --cache URL`); off: "
                  "none are (default: a folder beside the store)")
      ->type_name("DIR|off");
  verb.add_option("--caches-max", options.max,
                  "How much of them for each tenant; what was not used for longest goes (default: "
                  "20G)")
      ->type_name("SIZE");
}

Status choose_caches(const ServeCachesOptions& given, const std::string& store, bool demo,
                     collector::CacheRoomOptions& options) {
  auto most = parse_size_option("--caches-max", given.max);
  if (!most.ok()) return most.status();
  if (*most < kLeast) return Status::invalid("--caches-max " + given.max + ": give 1M or more");
  options.tenant_bytes_max = *most;
  options.why_not = "this collector keeps no compile caches (it was started with --caches off)";
  if (given.folder == "off") return {};
  if (demo) {
    options.why_not = "a made-up fleet shares no compile caches";
    return {};
  }
  if (store::is_postgres_url(store)) {
    if (!given.folder.empty()) {
      return Status::invalid("--caches " + given.folder + ": " + kUseStore);
    }
    options.why_not = kUseStore;
    return {};
  }
  std::error_code error;
  options.folder =
      std::filesystem::absolute(given.folder.empty() ? store + ".caches" : given.folder, error)
          .lexically_normal()
          .string();
  if (error) return Status::io("--caches " + given.folder + ": " + error.message());
  while (options.folder.size() > 1 && options.folder.ends_with('/')) options.folder.pop_back();
  return {};
}

}  // namespace headway::cli
