// Whether a collector keeps compile caches, and where.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/verb.h"
#include "collector/cache_room.h"

namespace headway::cli {

struct ServeCachesOptions {
  std::string folder;  // or "off"
  std::string max = "20G";
};
void add_serve_caches_options(Verb& verb, ServeCachesOptions& options);
// `store`: the collector's, as store_path() has it. Beside a file there is a folder for caches; of
// several collectors on one database none sees what another one has on its disk.
base::Status choose_caches(const ServeCachesOptions& given, const std::string& store, bool demo,
                           collector::CacheRoomOptions& options);

}  // namespace headway::cli
