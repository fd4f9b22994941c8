// What a graph that Dynamo dumped is told apart by: its text, without the numbers of devices, which
// are each rank's own. Pure.
#pragma once

#include <string>
#include <string_view>

namespace headway::compile {

// 16 bytes; `payload` as it is in the log. "cuda:3" is as good as "cuda:0".
[[nodiscard]] std::string graph_digest(std::string_view payload);

}  // namespace headway::compile
