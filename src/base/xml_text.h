// Text as a part of an XML document, SVG among them. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace headway::base {

// With the five characters that mean something in XML written as entities.
[[nodiscard]] std::string xml_escaped(std::string_view text);

}  // namespace headway::base
