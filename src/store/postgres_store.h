// The store in a PostgreSQL database, which any number of collectors share: docs/postgres.md.
#pragma once

#include <memory>
#include <string>

#include "store/postgres.h"
#include "store/postgres_address.h"
#include "store/store.h"

namespace headway::store {

struct PostgresOptions {
  std::string url;  // postgres://USER@HOST/DATABASE
  PostgresTimeouts timeouts{};
  Purpose purpose = Purpose::collect;
};

base::Result<std::unique_ptr<Store>> open_postgres(const PostgresOptions& options);

// For people: who, where, what; without a password.
[[nodiscard]] std::string postgres_name(const std::string& url);

}  // namespace headway::store
