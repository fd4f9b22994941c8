// What `headway trace --dynamic-sources` shows. Pure; any thread.
#pragma once

#include <string>

#include "cli/output.h"
#include "compile/dynamic_sources.h"

namespace headway::cli {

[[nodiscard]] std::string dynamic_text(const compile::DynamicFindings& found,
                                       const std::string& title, bool all, const Style& style);
[[nodiscard]] Json dynamic_json(const compile::DynamicFindings& found);

}  // namespace headway::cli
