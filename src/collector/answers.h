// Answers as the API gives them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "net/http_server.h"

namespace headway::collector {

[[nodiscard]] net::ServerAnswer json_answer(int status, std::string body);
// {"error": "…"}
[[nodiscard]] net::ServerAnswer error_answer(int status, std::string_view text);
[[nodiscard]] net::ServerAnswer later_answer(int status, std::string_view text, int retry_after_s);
// Of a job that cannot be told: it is not there any more, or not now.
[[nodiscard]] net::ServerAnswer trouble_answer(const base::Status& status);

}  // namespace headway::collector
