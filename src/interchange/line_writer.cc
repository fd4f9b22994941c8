#include "interchange/line_writer.h"

#include <fmt/format.h>

#include <iterator>

#include "interchange/decimal_time.h"
#include "interchange/json_text.h"
#include "interchange/line.h"

namespace headway::interchange {
namespace {

using event::Event;
using event::EventType;
using event::NameId;

void append_text(std::string& out, std::string_view key, std::string_view text) {
  out += ",\"";
  out += key;
  out += "\":";
  append_json_string(out, text);
}

void append_number(std::string& out, std::string_view key, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":{}", key, value);
}

void append_rank(std::string& out, std::string_view key, std::uint32_t rank) {
  if (rank == event::kAgentRank) return append_text(out, key, "agent");
  append_number(out, key, rank);
}

void append_position(std::string& out, const Event& e) {
  append_number(out, "step", e.a);
  if (e.b != HW_NO_DATA) append_number(out, "data", e.b);
}

void append_end(std::string& out, const Event& e, std::uint32_t own_rank, const ShownNames& names) {
  const event::EndInfo end = event::unpack_end(e.a, e.b);
  if (end.exit_code != 0) append_number(out, "exit_code", end.exit_code);
  if (end.signal != 0) append_number(out, "signal", end.signal);
  if (const auto origin = event::origin_name(end.origin); !origin.empty()) {
    append_text(out, "origin", origin);
  }
  if (const auto reason = names.text(end.reason); end.reason != 0 && !reason.empty()) {
    append_text(out, "reason", reason);
  }
  if (end.rank != own_rank) append_rank(out, "of_rank", end.rank);
}

bool append_content(std::string& out, const Event& e, std::uint32_t own_rank,
                    const ShownNames& names) {
  switch (e.type) {
    case EventType::mark:
      if (event::mark_name(e.name).empty()) return false;
      append_text(out, "type", "mark");
      append_text(out, "name", event::mark_name(e.name));
      if (e.name == HW_MARK_FAILURE || e.name == HW_MARK_EXIT) append_end(out, e, own_rank, names);
      return true;
    case EventType::begin:
    case EventType::end:
      if (names.text(e.name).empty()) return false;
      append_text(out, "type", e.type == EventType::begin ? "begin" : "end");
      append_text(out, "phase", names.text(e.name));
      if (e.type == EventType::end && e.name == HW_PHASE_COMPILE && e.a == 1)
        out += ",\"warm\":true";
      return true;
    case EventType::step:
    case EventType::step_end:
      append_text(out, "type", e.type == EventType::step ? "step" : "step_end");
      append_position(out, e);
      return true;
    case EventType::checkpoint:
      if (event::checkpoint_state_name(e.name).empty()) return false;
      append_text(out, "type", "checkpoint");
      append_text(out, "state", event::checkpoint_state_name(e.name));
      append_position(out, e);
      return true;
    case EventType::restore:
      append_text(out, "type", "restore");
      append_position(out, e);
      if (e.name != 0 && !names.text(e.name).empty()) append_text(out, "tier", names.text(e.name));
      return true;
    case EventType::hang:
      append_text(out, "type", "hang");
      append_number(out, "since_ns", e.a);
      if (e.b != static_cast<std::int64_t>(own_rank)) {
        append_rank(out, "of_rank", static_cast<std::uint32_t>(e.b));
      }
      return true;
    case EventType::attr:
      if (names.text(e.name).empty()) return false;
      append_text(out, "type", "attr");
      append_text(out, "key", names.text(e.name));
      append_text(out, "value", names.value(e.name, static_cast<NameId>(e.a)));
      return true;
    case EventType::device_done:
      append_text(out, "type", "device_done");
      append_number(out, "step", e.a);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool append_line(std::string& out, const event::StreamInfo& info, const Event& e,
                 const ShownNames& names, bool facts) {
  if (e.t_ns > kTimeMaxNs || e.t_ns < -kTimeMaxNs) return false;
  const std::size_t start = out.size();
  fmt::format_to(std::back_inserter(out), "{{\"t_ns\":{}", e.t_ns);
  append_text(out, "job", info.job);
  append_number(out, "attempt", info.attempt);
  if (info.rank != 0) append_rank(out, "rank", info.rank);
  if (e.lane != 0) append_number(out, "lane", e.lane);
  if (!append_content(out, e, info.rank, names)) {
    out.resize(start);
    return false;
  }
  if (facts && info.world_size != 0) append_number(out, "world_size", info.world_size);
  if (facts && !info.host.empty()) append_text(out, "host", info.host);
  out += "}\n";
  return true;
}

}  // namespace headway::interchange
