#include "collector/cache_api.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file_system.h"
#include "collector/answers.h"

namespace headway::collector {

using net::ServerAnswer;
using net::ServerRequest;
using nlohmann::json;

namespace {

constexpr int kThreads = 2;
constexpr std::size_t kWaitingMax = 256;  // pieces, of 4 MiB at most
constexpr int kLaterS = 1;

ServerAnswer refusal(const base::Status& status) {
  switch (status.code()) {
    case base::Code::invalid_input:
      return error_answer(400, status.message());
    case base::Code::not_found:
      return error_answer(404, status.message());
    case base::Code::corrupt:
      return error_answer(422, status.message());
    case base::Code::no_space:
      return error_answer(507, "the collector has no room: " + status.message());
    case base::Code::unsupported:
      return later_answer(503, status.message(), kLaterS);
    default:
      return error_answer(500, status.message());
  }
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::optional<std::uint64_t> number_argument(const ServerRequest& request, const char* name) {
  const std::string* text = request.argument(name);
  return text == nullptr ? std::nullopt : number_of(*text);
}

std::string text_of(const json& body) {
  return body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::optional<std::pair<std::uint64_t, std::uint64_t>> range_of(std::string_view header) {
  constexpr std::string_view unit = "bytes=";
  if (!header.starts_with(unit)) return {};
  header.remove_prefix(unit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) return {};
  const auto first = number_of(header.substr(0, dash)), last = number_of(header.substr(dash + 1));
  if (!first || !last || *last < *first || *last == UINT64_MAX) return {};
  return std::pair(*first, *last + 1);
}

CacheApi::CacheApi(CacheRoomOptions options)
    : room_(std::move(options)), workers_(kThreads, kWaitingMax) {}

std::optional<store::Role> CacheApi::role_for(const Route& route, std::string_view method) {
  if (method == "GET" || method == "HEAD") return store::Role::ingest;
  if (route.archive.empty()) return {};
  if (method == "PUT") return store::Role::ingest;
  return method == "DELETE" ? std::optional(store::Role::admin) : std::nullopt;
}

void CacheApi::offer(const Route& route, const std::string& tenant, ServerRequest request,
                     std::shared_ptr<net::Reply> reply) {
  if (const base::Status status = room_.ready(); !status.ok()) {
    return reply->send(error_answer(501, status.message()));
  }
  const bool taken = workers_.add([this, route, tenant, request = std::move(request), reply] {
    reply->send(answer(route, tenant, request));
  });
  if (!taken) reply->send(later_answer(503, "too many archives at once", kLaterS));
}

ServerAnswer CacheApi::answer(const Route& route, const std::string& tenant,
                              const ServerRequest& request) {
  if (route.archive.empty()) return list(tenant, request);
  if (request.method == "PUT") return take(route.archive, tenant, request);
  if (request.method != "DELETE") return read(route.archive, tenant, request);
  const base::Status status = room_.remove(tenant, route.archive);
  return status.ok() ? json_answer(200, "{}\n") : refusal(status);
}

ServerAnswer CacheApi::list(const std::string& tenant, const ServerRequest& request) {
  const std::string* folder = request.argument("folder");
  auto found = room_.list(tenant, folder == nullptr ? "" : *folder);
  if (!found.ok()) return refusal(found.status());
  json archives = json::array();
  for (const cache::Shelved& one : *found) {
    archives.push_back(
        {{"name", one.name}, {"bytes", one.bytes}, {"modified_ns", one.modified_ns}});
  }
  return json_answer(200, text_of({{"archives", archives}}));
}

ServerAnswer CacheApi::take(const std::string& name, const std::string& tenant,
                            const ServerRequest& request) {
  const auto offset = number_argument(request, "offset"), total = number_argument(request, "bytes");
  const std::string* upload = request.argument("upload");
  if (!offset || !total || upload == nullptr) {
    return error_answer(400, "give upload, offset and bytes (of the whole archive)");
  }
  auto taken = room_.take(tenant, {name, *upload, *offset, *total}, base::bytes_of(request.body));
  if (!taken.ok()) return refusal(taken.status());
  json body = {{"next", taken->next}, {"there", taken->there}};
  if (!taken->in_order) body["error"] = "this is not the next piece";
  return json_answer(!taken->in_order ? 409 : taken->whole ? 201 : 200, text_of(body));
}

ServerAnswer CacheApi::read(const std::string& name, const std::string& tenant,
                            const ServerRequest& request) {
  const auto range = range_of(request.header("range"));
  if (!range) {
    return error_answer(400, fmt::format("ask for a piece: \"Range: bytes=0-{}\", and so on",
                                         cache_piece_out_max - 1));
  }
  auto piece = room_.read(tenant, name, range->first, range->second - range->first);
  if (!piece.ok()) return refusal(piece.status());
  if (piece->bytes.empty()) {
    ServerAnswer answer = error_answer(416, "it ends before");
    answer.headers.emplace_back("Content-Range", fmt::format("bytes */{}", piece->total));
    return answer;
  }
  ServerAnswer answer;
  answer.status = 206;
  answer.content_type = "application/octet-stream";
  answer.headers = {
      {"Cache-Control", "no-store"},
      {"X-Content-Type-Options", "nosniff"},
      {"ETag", piece->tag},
      {"Content-Range", fmt::format("bytes {}-{}/{}", range->first,
                                    range->first + piece->bytes.size() - 1, piece->total)}};
  answer.body = std::move(piece->bytes);
  return answer;
}

}  // namespace headway::collector
