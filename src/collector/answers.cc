#include "collector/answers.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace headway::collector {

net::ServerAnswer json_answer(int status, std::string body) {
  net::ServerAnswer answer;
  answer.status = status;
  answer.content_type = "application/json";
  answer.body = std::move(body);
  answer.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
  return answer;
}

net::ServerAnswer error_answer(int status, std::string_view text) {
  const nlohmann::json body = {{"error", text}};
  return json_answer(status,
                     body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

net::ServerAnswer later_answer(int status, std::string_view text, int retry_after_s) {
  net::ServerAnswer answer = error_answer(status, text);
  answer.headers.emplace_back("Retry-After", std::to_string(retry_after_s));
  return answer;
}

net::ServerAnswer trouble_answer(const base::Status& status) {
  if (status.code() == base::Code::not_found) return error_answer(404, status.message());
  return later_answer(503, status.message(), 5);
}

}  // namespace headway::collector
