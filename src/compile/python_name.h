// What the script calls a source of torch's: L['self']._modules['lin'].weight → self.lin.weight.
// What comes out is an expression of Python as it stands, or nothing. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace headway::compile {

// "": no name of the script's, or none that is surely one (it has calls in it, or was cut).
[[nodiscard]] std::string python_name(std::string_view source);

}  // namespace headway::compile
