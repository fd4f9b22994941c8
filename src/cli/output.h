// What verbs print with, whatever they are about: pages and JSON on standard output, errors that
// cannot send escape codes to somebody's terminal.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/status.h"
#include "cli/style.h"

namespace headway::cli {

using Json = nlohmann::ordered_json;

// As fail(), for messages that may hold names from somebody's file: no escape code gets through.
int fail_cleanly(const base::Status& status);
// Text for standard output; kExitBadInput where it cannot be written.
int print_out(std::string_view text);
int print_json(const Json& json);
[[nodiscard]] Style out_style();

}  // namespace headway::cli
