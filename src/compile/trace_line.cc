#include "compile/trace_line.h"

#include <fmt/format.h>
#define SIMDJSON_EXCEPTIONS 0  // every error is a code: nothing here may throw
#include <simdjson.h>

#include <charconv>
#include <limits>

namespace headway::compile {
namespace {

namespace od = simdjson::ondemand;

constexpr std::size_t kSourceBytesMax = 4096;
constexpr std::string_view kLevels = "VDIWECF";

// `digits` digits at `at`; -1 where there is something else.
int number_at(std::string_view text, std::size_t at, std::size_t digits) {
  if (at + digits > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// A whole number of an id; anything else leaves the field as it was.
void read_id(od::value& value, std::int32_t& out) {
  std::int64_t number = 0;
  if (value.get_int64().get(number)) return;
  if (number >= 0 && number <= std::numeric_limits<std::int32_t>::max()) {
    out = static_cast<std::int32_t>(number);
  }
}

bool raw_of(od::value& value, std::string_view& out) {
  od::json_type type{};
  if (value.type().get(type)) return false;
  if (type == od::json_type::object) {
    od::object object;
    return !value.get_object().get(object) && !object.raw_json().get(out);
  }
  if (type == od::json_type::array) {
    od::array array;
    return !value.get_array().get(array) && !array.raw_json().get(out);
  }
  out = value.raw_json_token();
  return true;
}

}  // namespace

std::optional<LinePrefix> parse_prefix(std::string_view line) {
  // "V1117 12:13:13.262000 11797 x:1] {"
  //  0    5                22
  if (line.size() < 30 || kLevels.find(line[0]) == std::string_view::npos) return std::nullopt;
  if (line[5] != ' ' || line[8] != ':' || line[11] != ':' || line[14] != '.' || line[21] != ' ') {
    return std::nullopt;
  }
  LinePrefix out;
  const int month = number_at(line, 1, 2), day = number_at(line, 3, 2);
  const int hours = number_at(line, 6, 2), minutes = number_at(line, 9, 2);
  const int seconds = number_at(line, 12, 2), us = number_at(line, 15, 6);
  if (month < 1 || month > 12 || day < 1 || day > 31 || hours < 0 || hours > 23)
    return std::nullopt;
  if (minutes < 0 || minutes > 59 || seconds < 0 || seconds > 60 || us < 0) return std::nullopt;
  out.month = static_cast<std::uint8_t>(month);
  out.day = static_cast<std::uint8_t>(day);
  out.day_us = ((hours * 60 + minutes) * 60 + seconds) * std::int64_t{1'000'000} + us;
  const char* end = line.data() + line.size();
  const auto [after, error] = std::from_chars(line.data() + 22, end, out.process);
  if (error != std::errc() || after == end || *after != ' ') return std::nullopt;
  const std::string_view rest(after + 1, static_cast<std::size_t>(end - after - 1));
  // A path may hold a bracket: the first one that ends the prefix counts.
  const std::size_t close = rest.substr(0, kSourceBytesMax).find("] {");
  if (close == std::string_view::npos) return std::nullopt;
  out.source = rest.substr(0, close);
  out.json = rest.substr(close + 2);
  return out;
}

std::string CompileId::text() const {
  if (!known()) return "-";
  std::string out;
  if (autograd >= 0) out = fmt::format("!{}", autograd);
  if (frame >= 0) {
    out += fmt::format("{}{}/{}", out.empty() ? "" : "/", frame, compile < 0 ? 0 : compile);
  }
  return out;
}

std::optional<CompileId> parse_compile_id(std::string_view text) {
  const auto number = [&](std::int32_t& out) {
    const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || out < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(after - text.data()));
    return true;
  };
  CompileId id;
  if (text.starts_with('!')) {
    text.remove_prefix(1);
    if (!number(id.autograd)) return std::nullopt;
    if (text.empty()) return id;
    if (!text.starts_with('/')) return std::nullopt;
    text.remove_prefix(1);
  }
  if (!number(id.frame) || !text.starts_with('/')) return std::nullopt;
  text.remove_prefix(1);
  if (!number(id.compile)) return std::nullopt;
  // Events of a restarted compilation end in "_1".
  if (!text.empty() && text.front() != '_') return std::nullopt;
  return id;
}

struct EnvelopeParser::Parser {
  od::parser parser;
};

EnvelopeParser::EnvelopeParser() : parser_(std::make_unique<Parser>()) {}
EnvelopeParser::~EnvelopeParser() = default;
EnvelopeParser::EnvelopeParser(EnvelopeParser&&) noexcept = default;
EnvelopeParser& EnvelopeParser::operator=(EnvelopeParser&&) noexcept = default;

bool EnvelopeParser::parse(std::string_view json, Envelope& out) {
  out = {};
  od::document document;
  const simdjson::padded_string_view padded(json.data(), json.size(),
                                            json.size() + simdjson::SIMDJSON_PADDING);
  if (parser_->parser.iterate(padded).get(document)) return false;
  od::object object;
  if (document.get_object().get(object)) return false;
  for (auto field : object) {
    od::value value;
    std::string_view key;
    if (field.unescaped_key().get(key) || field.value().get(value)) return false;
    if (key == "rank") {
      read_id(value, out.rank);
    } else if (key == "frame_id") {
      read_id(value, out.id.frame);
    } else if (key == "frame_compile_id") {
      read_id(value, out.id.compile);
    } else if (key == "compiled_autograd_id") {
      read_id(value, out.id.autograd);
    } else if (key == "attempt") {
      read_id(value, out.attempt);
    } else if (key == "has_payload") {
      std::string_view text;
      if (!value.get_string().get(text)) out.payload_md5 = text;
    } else if (key == "stack" || key == "subgraph_name" || !out.type.empty()) {
      continue;
    } else {
      out.type = key;
      if (!raw_of(value, out.metadata)) return false;
    }
  }
  const bool whole = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  return whole && !out.type.empty();
}

}  // namespace headway::compile
