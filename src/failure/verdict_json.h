// A verdict as JSON, as `headway why --json` prints it and failure.json keeps it.
#pragma once

#include <nlohmann/json.hpp>

#include "failure/classify.h"

namespace headway::failure {

[[nodiscard]] nlohmann::ordered_json verdict_json(const Verdict& verdict);

// May throw nlohmann's exceptions where a field is of another kind; what is missing stays empty.
[[nodiscard]] Verdict verdict_from_json(const nlohmann::ordered_json& json);

}  // namespace headway::failure
