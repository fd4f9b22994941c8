#include "cli/serve_store.h"

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "store/postgres_store.h"
#include "store/sqlite_store.h"

namespace headway::cli {

using base::Result;
using base::Status;

Option* add_store_option(Verb& verb, std::string& store) {
  return verb
      .add_option("--store", store,
                  "The collector's database: a file, or postgres://USER@HOST/DATABASE (default: "
                  "$HEADWAY_STORE, else ~/.local/state/headway-collector/store.db)")
      ->type_name("FILE|URL");
}

Result<std::string> store_path(const std::string& given) {
  if (!given.empty()) return given;
  const char* store = std::getenv("HEADWAY_STORE");
  if (store != nullptr && *store != '\0') return std::string(store);
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  const std::string file = "/headway-collector/store.db";
  if (state != nullptr && *state == '/') return state + file;
  if (home != nullptr && *home == '/') return home + ("/.local/state" + file);
  return Status::invalid("no place for the collector's store: HOME is not set; give --store FILE");
}

Result<std::string> store_name(const std::string& given) {
  auto path = store_path(given);
  if (path.ok() && store::is_postgres_url(*path)) return store::postgres_name(*path);
  return path;
}

Result<std::unique_ptr<store::Store>> open_store(const std::string& given, store::Purpose purpose) {
  auto path = store_path(given);
  if (!path.ok()) return path.status();
  if (store::is_postgres_url(*path)) {
    return store::open_postgres({.url = *path, .purpose = purpose});
  }
  if (path->find("://") != std::string::npos) {
    return Status::invalid(*path + ": is no store; give a file, or postgres://USER@HOST/DATABASE");
  }
  const std::string folder = std::filesystem::path(*path).parent_path().string();
  if (!folder.empty() && purpose != store::Purpose::look) {
    if (Status status = base::make_dirs(folder); !status.ok()) return status;
  }
  return store::open_sqlite({*path, purpose});
}

}  // namespace headway::cli
