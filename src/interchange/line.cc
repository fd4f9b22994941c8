#include "interchange/line.h"

#include <fmt/format.h>
#define SIMDJSON_EXCEPTIONS 0  // every error is a code: nothing here may throw
#include <simdjson.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "interchange/decimal_time.h"
#include "interchange/line_fields.h"

namespace headway::interchange {
namespace {

using base::Status;
using event::EventType;
namespace od = simdjson::ondemand;

constexpr std::size_t kUnknownKeysMax = 64;

constexpr std::array<std::string_view, 13> kTypes = {
    "",        "mark", "begin", "end", "step", "step_end",   "checkpoint",
    "restore", "hang", "attr",  "",    "",     "device_done"};

EventType type_of(std::string_view text) {
  for (std::size_t i = 1; i < kTypes.size(); ++i) {
    if (!kTypes[i].empty() && kTypes[i] == text) return static_cast<EventType>(i);
  }
  return EventType::none;
}

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && (token.back() == ' ' || token.back() == '\t' || token.back() == '\r' ||
                            token.back() == '\n')) {
    token.remove_suffix(1);
  }
  return token;
}

Status wrong(Field field, std::string_view must) {
  return Status::invalid(fmt::format("\"{}\" must be {}", kFieldNames[field], must));
}

Status not_json(simdjson::error_code error) {
  return Status::invalid(fmt::format("not JSON: {}", simdjson::error_message(error)));
}

// The raw values of the fields, before they are given a meaning.
struct Fields {
  std::uint32_t seen = 0;
  Line* line = nullptr;
  std::int64_t t_ns = 0, since_ns = 0, step = 0, data = HW_NO_DATA;
  std::string_view type, phase, name, state, key, value, tier, origin, reason;
  std::int64_t exit_code = 0, signal = 0, of_rank = 0;
  bool warm = false;

  [[nodiscard]] bool has(Field f) const { return (seen & (1u << f)) != 0; }
};
static_assert(f_count <= 32);

Status read_text(od::value& value, Field field, std::size_t bytes_max, std::string_view& out) {
  std::string_view text;
  if (value.get_string().get(text)) return wrong(field, "a string");
  if (field == f_job && text.size() > bytes_max) {
    return wrong(field, fmt::format("at most {} bytes long", bytes_max));
  }
  out = cut_text(text, bytes_max);
  return {};
}

Status read_integer(od::value& value, Field field, std::int64_t min, std::int64_t max,
                    std::int64_t& out) {
  const auto number = integer_text(trimmed(value.raw_json_token()));
  if (!number || *number < min || *number > max) {
    return wrong(field, fmt::format("an integer from {} to {}", min, max));
  }
  out = *number;
  return {};
}

Status read_seconds(od::value& value, Field field, std::int64_t& out) {
  const auto ns = seconds_text_to_ns(trimmed(value.raw_json_token()));
  if (!ns) return wrong(field, "a finite number of seconds between the years 1824 and 2116");
  out = *ns;
  return {};
}

Status read_rank(od::value& value, Field field, std::int64_t& out) {
  const std::string_view token = trimmed(value.raw_json_token());
  if (token == "\"agent\"" || token == "4294967295") {
    out = event::kAgentRank;
    return {};
  }
  const auto number = integer_text(token);
  if (!number || *number < 0 || *number > kRankMax) {
    return wrong(field, fmt::format("an integer from 0 to {} or \"agent\"", kRankMax));
  }
  out = *number;
  return {};
}

// An attribute's value may be any scalar; numbers and booleans keep the text they were written in.
Status read_scalar(od::value& value, std::string_view& out) {
  od::json_type type{};
  if (value.type().get(type)) return wrong(f_value, "a string, number or boolean");
  if (type == od::json_type::string) return read_text(value, f_value, kTextBytesMax, out);
  const std::string_view token = trimmed(value.raw_json_token());
  if (token != "true" && token != "false" && !seconds_text_to_ns(token)) {
    return wrong(f_value, "a string, number or boolean");
  }
  out = cut_text(token, kTextBytesMax);
  return {};
}

Status read_known(od::value& value, Field field, Fields& in) {
  Line& line = *in.line;
  std::int64_t n = 0;
  Status status;
  switch (field) {
    case f_t:
      return read_seconds(value, field, in.t_ns);
    case f_t_ns:
      return read_integer(value, field, -kTimeMaxNs, kTimeMaxNs, in.t_ns);
    case f_since:
      return read_seconds(value, field, in.since_ns);
    case f_since_ns:
      return read_integer(value, field, -kTimeMaxNs, kTimeMaxNs, in.since_ns);
    case f_job:
      return read_text(value, field, kJobBytesMax, line.job);
    case f_host:
      return read_text(value, field, kTextBytesMax, line.host);
    case f_attempt:
      return read_integer(value, field, 0, kAttemptMax, line.attempt);
    case f_step:
      return read_integer(value, field, 0, kCountMax, in.step);
    case f_data:
      return read_integer(value, field, 0, kCountMax, in.data);
    case f_exit_code:
      return read_integer(value, field, INT32_MIN, INT32_MAX, in.exit_code);
    case f_signal:
      return read_integer(value, field, 0, 255, in.signal);
    case f_type:
      return read_text(value, field, kTextBytesMax, in.type);
    case f_phase:
      return read_text(value, field, kTextBytesMax, in.phase);
    case f_name:
      return read_text(value, field, kTextBytesMax, in.name);
    case f_state:
      return read_text(value, field, kTextBytesMax, in.state);
    case f_key:
      return read_text(value, field, kTextBytesMax, in.key);
    case f_tier:
      return read_text(value, field, kTextBytesMax, in.tier);
    case f_origin:
      return read_text(value, field, kTextBytesMax, in.origin);
    case f_reason:
      return read_text(value, field, kTextBytesMax, in.reason);
    case f_value:
      return read_scalar(value, in.value);
    case f_warm:
      return value.get_bool().get(in.warm) ? wrong(field, "true or false") : Status{};
    case f_rank:
      status = read_rank(value, field, n);
      line.rank = static_cast<std::uint32_t>(n);
      return status;
    case f_of_rank:
      return read_rank(value, field, in.of_rank);
    case f_lane:
      status = read_integer(value, field, 0, kLaneMax, n);
      line.lane = static_cast<std::uint16_t>(n);
      return status;
    case f_world_size:
      status = read_integer(value, field, 0, kRankMax + 1, n);
      line.world_size = static_cast<std::uint32_t>(n);
      return status;
    case f_count:
      break;
  }
  return Status::invalid("unreachable field");
}

// Ignored values must still be JSON: On Demand checks only what is read.
bool is_valid(od::value value, int depth) {
  od::json_type type{};
  if (depth > kNestingMax || value.type().get(type)) return false;
  if (type == od::json_type::object) {
    od::object object;
    if (value.get_object().get(object)) return false;
    for (auto field : object) {
      std::string_view key;
      od::value inner;
      if (field.unescaped_key().get(key) || field.value().get(inner)) return false;
      if (!is_valid(inner, depth + 1)) return false;
    }
    return true;
  }
  if (type == od::json_type::array) {
    od::array array;
    if (value.get_array().get(array)) return false;
    for (auto element : array) {
      od::value inner;
      if (element.get(inner) || !is_valid(inner, depth + 1)) return false;
    }
    return true;
  }
  if (type == od::json_type::string) {
    std::string_view text;
    return value.get_string().get(text) == simdjson::SUCCESS;
  }
  if (type == od::json_type::boolean) {
    bool b = false;
    return value.get_bool().get(b) == simdjson::SUCCESS;
  }
  if (type == od::json_type::null) return trimmed(value.raw_json_token()) == "null";
  double d = 0;
  return value.get_double().get(d) == simdjson::SUCCESS;
}

Status finish_mark(const Fields& in) {
  Line& line = *in.line;
  const auto mark = event::mark_from_name(in.name);
  if (!mark) {
    return wrong(f_name,
                 "one of submitted, resources_available, allocated, launcher_start, trainer_start, "
                 "preempt_notice, failure, exit, job_end");
  }
  line.code = *mark;
  if (*mark != HW_MARK_FAILURE && *mark != HW_MARK_EXIT) return {};
  line.end.exit_code = static_cast<std::int32_t>(in.exit_code);
  line.end.signal = static_cast<std::int32_t>(in.signal);
  line.end.rank = in.has(f_of_rank) ? static_cast<std::uint32_t>(in.of_rank) : line.rank;
  line.name = in.reason;
  if (in.has(f_origin)) {
    const auto origin = event::origin_from_name(in.origin);
    if (!origin) return wrong(f_origin, "infra, preemption, user or unknown");
    line.end.origin = *origin;
  }
  return {};
}

Status finish_type(const Fields& in) {
  Line& line = *in.line;
  line.a = in.step;
  line.b = in.data;
  switch (line.type) {
    case EventType::mark:
      return finish_mark(in);
    case EventType::begin:
    case EventType::end:
      if (in.phase.empty()) return wrong(f_phase, "the name of the span");
      line.name = in.phase;
      line.a = in.warm && line.type == EventType::end && in.phase == "compile" ? 1 : 0;
      line.b = 0;
      return {};
    case EventType::device_done:
      line.b = 0;
      [[fallthrough]];
    case EventType::step:
    case EventType::step_end:
      return in.has(f_step) ? Status{} : wrong(f_step, "given for this type");
    case EventType::checkpoint: {
      const auto state = event::checkpoint_state_from_name(in.state);
      if (!state) return wrong(f_state, "staged, durable, uploaded or failed");
      line.code = *state;
      return in.has(f_step) ? Status{} : wrong(f_step, "given for this type");
    }
    case EventType::restore:
      line.name = in.tier;
      return in.has(f_step) ? Status{} : wrong(f_step, "given for this type");
    case EventType::hang:
      if (!in.has(f_since) && !in.has(f_since_ns)) {
        return wrong(f_since, "given for a hang: the time of the last progress");
      }
      line.a = in.since_ns;
      line.b = in.has(f_of_rank) ? in.of_rank : static_cast<std::int64_t>(line.rank);
      return {};
    case EventType::attr:
      if (in.key.empty()) return wrong(f_key, "the attribute's name");
      if (!in.has(f_value)) return wrong(f_value, "given for an attribute");
      line.name = in.key;
      line.value = in.value;
      return {};
    default:
      break;
  }
  return wrong(f_type,
               "one of mark, begin, end, step, step_end, checkpoint, restore, hang, attr, "
               "device_done");
}

Status finish(const Fields& in) {
  Line& line = *in.line;
  if (!in.has(f_type)) return wrong(f_type, "given");
  line.type = type_of(in.type);
  if (in.has(f_t) && in.has(f_t_ns)) {
    return Status::invalid("a line has either \"t\" (seconds) or \"t_ns\", not both");
  }
  line.has_time = in.has(f_t) || in.has(f_t_ns);
  line.t_ns = in.t_ns;
  Status status = finish_type(in);
  if (!status.ok()) return status;
  if (!line.has_time && line.type != EventType::attr) {
    return Status::invalid("the time is missing: give \"t\" (seconds) or \"t_ns\"");
  }
  return {};
}

}  // namespace

struct LineParser::Impl {
  od::parser parser;
  std::set<std::string, std::less<>> unknown;
  std::string copy;

  void note_unknown(std::string_view key) {
    if (unknown.size() < kUnknownKeysMax && unknown.find(key) == unknown.end()) {
      unknown.emplace(cut_text(key, kTextBytesMax));
    }
  }

  Status read_field(od::field& item, Fields& in) {
    std::string_view key;
    if (item.unescaped_key().get(key)) return Status::invalid("a key is not a valid string");
    od::value& value = item.value();
    const std::uint8_t field = field_of(key);
    if (field == kNoField) {
      note_unknown(key);
      if (is_valid(value, 0)) return {};
      return Status::invalid(
          fmt::format("the value of \"{}\" is not JSON", cut_text(key, kTextBytesMax)));
    }
    const std::uint32_t bit = 1u << field;
    if ((in.seen & bit) != 0) return wrong(static_cast<Field>(field), "given once");
    if (trimmed(value.raw_json_token()) == "null") return {};
    in.seen |= bit;
    return read_known(value, static_cast<Field>(field), in);
  }

  Status read_object(std::string_view line, Fields& in) {
    od::document document;
    const simdjson::padded_string_view padded(line.data(), line.size(),
                                              line.size() + kLinePaddingBytes);
    if (const auto e = parser.iterate(padded).get(document)) return not_json(e);
    od::object object;
    if (const auto e = document.get_object().get(object)) {
      return e == simdjson::INCORRECT_TYPE ? Status::invalid("a line must be one JSON object")
                                           : not_json(e);
    }
    for (auto result : object) {
      od::field item;
      if (const auto e = std::move(result).get(item)) return not_json(e);
      if (Status status = read_field(item, in); !status.ok()) return status;
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
      return Status::invalid("there is something behind the JSON object");
    }
    return {};
  }
};

LineParser::LineParser() : impl_(std::make_unique<Impl>()) {}
LineParser::~LineParser() = default;

std::vector<std::string> LineParser::unknown_keys() const {
  return {impl_->unknown.begin(), impl_->unknown.end()};
}

base::Status LineParser::parse(std::string_view line, Line& out) {
  static_assert(kLinePaddingBytes >= simdjson::SIMDJSON_PADDING);
  if (line.size() > kLineBytesMax) {
    return Status::invalid(fmt::format("a line may have at most {} bytes", kLineBytesMax));
  }
  out = Line{};
  Fields in;
  in.line = &out;
  if (Status status = impl_->read_object(line, in); !status.ok()) return status;
  return finish(in);
}

base::Status LineParser::parse_copy(std::string_view line, Line& out) {
  impl_->copy.assign(line);
  impl_->copy.append(kLinePaddingBytes, '\0');
  return parse({impl_->copy.data(), line.size()}, out);
}

}  // namespace headway::interchange
