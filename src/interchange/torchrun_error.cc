#include "interchange/torchrun_error.h"

#include <fmt/format.h>
#define SIMDJSON_EXCEPTIONS 0  // every error is a code: nothing here may throw
#include <simdjson.h>

#include <vector>

#include "base/cut_text.h"
#include "interchange/decimal_time.h"
#include "interchange/line.h"

namespace headway::interchange {
namespace {

using base::Result;
using base::Status;
namespace dom = simdjson::dom;

std::string text_at(const dom::object& object, std::string_view key) {
  std::string_view text;
  if (object.at_key(key).get_string().get(text)) return {};
  return std::string(text);
}

// Seconds, as text or as a number.
std::optional<std::int64_t> time_at(const dom::object& object, std::string_view key) {
  double seconds = 0;
  if (object.at_key(key).get_double().get(seconds) == simdjson::SUCCESS) {
    return seconds_to_ns(seconds);
  }
  return seconds_text_to_ns(text_at(object, key));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// A traceback ends in the exception's line, which is not indented; notes of it may follow.
std::string_view exception_line(std::string_view callstack) {
  std::string_view found;
  for (std::size_t from = 0; from < callstack.size();) {
    const std::size_t at = std::min(callstack.find('\n', from), callstack.size());
    const std::string_view line = callstack.substr(from, at - from);
    from = at + 1;
    if (trimmed(line).empty() || line[0] == ' ' || line[0] == '\t') continue;
    const std::string_view name = line.substr(0, line.find(':'));
    const bool named = name.find(' ') == std::string_view::npos;
    if (named || found.empty()) found = trimmed(line);
  }
  return found.starts_with("Traceback ") ? std::string_view{} : found;
}

std::string_view first_line(std::string_view text) {
  text = trimmed(text);
  return trimmed(text.substr(0, text.find('\n')));
}

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t at = std::min(path.find('/', from), path.size());
    if (at > from) parts.push_back(path.substr(from, at - from));
    from = at + 1;
  }
  return parts;
}

}  // namespace

Result<TorchrunError> parse_torchrun_error(std::string_view text) {
  if (text.size() > kErrorFileBytesMax) return Status::invalid("too long for an error file");
  dom::parser parser;
  dom::element document;
  if (const auto e = parser.parse(text.data(), text.size()).get(document)) {
    return Status::invalid(fmt::format("not JSON: {}", simdjson::error_message(e)));
  }
  dom::object root;
  dom::element message;
  if (document.get_object().get(root) || root.at_key("message").get(message)) {
    return Status::invalid("not a torchrun error file: there is no \"message\"");
  }
  TorchrunError error;
  std::string said, callstack;
  dom::object details;
  if (message.get_object().get(details) == simdjson::SUCCESS) {
    said = text_at(details, "message");
    dom::object extra;
    if (details.at_key("extraInfo").get_object().get(extra) == simdjson::SUCCESS) {
      callstack = text_at(extra, "py_callstack");
      error.t_ns = time_at(extra, "timestamp");
    }
    std::int64_t code = 0;
    if (details.at_key("errorCode").get_int64().get(code) == simdjson::SUCCESS && code != 0 &&
        code >= INT32_MIN && code <= INT32_MAX) {
      error.exit_code = static_cast<int>(code);
    }
  } else {
    std::string_view plain;
    if (message.get_string().get(plain)) {
      return Status::invalid("\"message\" must be an object or a string");
    }
    said = plain;
  }
  if (!error.t_ns) error.t_ns = time_at(root, "timestamp");
  std::string_view reason = exception_line(callstack);
  if (reason.empty()) reason = first_line(said);
  error.reason =
      base::cut_in_the_middle(reason.empty() ? "unknown error" : reason, kErrorReasonBytesMax);
  return error;
}

ErrorPlace place_of_error_file(std::string_view path) {
  ErrorPlace place;
  const auto parts = path_parts(path);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    constexpr std::string_view kPrefix = "attempt_";
    if (!parts[i].starts_with(kPrefix)) continue;
    const auto restart = integer_text(parts[i].substr(kPrefix.size()));
    if (!restart || *restart < 0 || *restart >= 65535) continue;
    place.restart = *restart;
    const auto rank = integer_text(parts[i + 1]);
    if (rank && *rank >= 0 && *rank <= kRankMax) place.rank = static_cast<std::uint32_t>(*rank);
  }
  return place;
}

}  // namespace headway::interchange
