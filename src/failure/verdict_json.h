// A verdict as JSON, as `headway why --json` prints it and failure.json keeps it.
#pragma once

#include <nlohmann/json.hpp>

#include "failure/classify.h"

namespace headway::failure {

[[nodiscard]] nlohmann::ordered_json verdict_json(const Verdict& verdict);

}  // namespace headway::failure
