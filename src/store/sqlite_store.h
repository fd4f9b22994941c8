// The store in one SQLite file: for one collector, which holds a lock on it. docs/serve.md says how
// it is backed up.
#pragma once

#include <memory>
#include <string>

#include "store/store.h"

namespace headway::store {

struct SqliteOptions {
  std::string path;
  // Two collectors on one file would each take the other's jobs for their own: only one may
  // collect. The other purposes are those of tools beside it.
  Purpose purpose = Purpose::collect;
  int log_pages = 16384;  // of 4 KiB: how far the log grows before it is moved into the database
};

base::Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options);

}  // namespace headway::store
