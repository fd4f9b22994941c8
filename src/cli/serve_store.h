// Which store a collector and its tools mean.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "cli/verb.h"
#include "store/store.h"

namespace headway::cli {

Option* add_store_option(Verb& verb, std::string& store);
// What was given, else $HEADWAY_STORE, else a file below the user's state. May hold a password.
base::Result<std::string> store_path(const std::string& given);
// The same for people to read.
base::Result<std::string> store_name(const std::string& given);
// Several collectors share a PostgreSQL database, but not a file.
base::Result<std::unique_ptr<store::Store>> open_store(const std::string& given,
                                                       store::Purpose purpose);

void add_serve_token(Verb& serve, int& exit_code);

}  // namespace headway::cli
