#include "interchange/export_perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "interchange/json_text.h"
#include "interchange/span_walk.h"

namespace headway::interchange {
namespace {

using event::Event;
using event::EventType;

// Thread ids within a process: lanes are their own numbers, these lie above them.
constexpr std::uint32_t kStepsThread = 100000;
constexpr std::uint32_t kDeviceThread = 100001;
constexpr std::uint32_t kHangThread = 100002;

std::int64_t earliest(const event::JobStreams& job) {
  std::int64_t first_ns = INT64_MAX;
  for (const event::Stream& stream : job.streams) {
    const auto source = stream.open();
    if (source == nullptr) continue;
    for (auto batch = source->next(); !batch.empty(); batch = source->next()) {
      for (const Event& e : batch) {
        first_ns = std::min(first_ns, e.t_ns);
        if (e.type == EventType::hang) first_ns = std::min(first_ns, e.a);
      }
    }
  }
  return first_ns == INT64_MAX ? 0 : first_ns;
}

// The time between as microseconds with three decimals: exact up to 104 days, to half a microsecond
// for centuries.
std::string micros(std::int64_t from_ns, std::int64_t to_ns) {
  const std::uint64_t ns = length_ns(from_ns, to_ns);
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

class PerfettoSink final : public SpanSink {
 public:
  PerfettoSink(const event::StreamInfo& info, const ShownNames& names, std::size_t pid,
               std::int64_t zero_ns, OutFile& out, ExportCounts& counts)
      : names_(names), pid_(pid), zero_ns_(zero_ns), out_(out), counts_(counts) {
    const std::string who =
        info.rank == event::kAgentRank ? "launcher" : fmt::format("rank {}", info.rank);
    std::string label = fmt::format("attempt {} {}", info.attempt, who);
    if (!info.host.empty()) label += " @ " + info.host;
    meta("process_name", 0, "name", label);
    fmt::format_to(std::back_inserter(begin("M", "process_sort_index", 0)),
                   ",\"args\":{{\"sort_index\":{}}}}}", pid);
    for (const auto& [thread, name] : {std::pair<std::uint32_t, const char*>{kStepsThread, "steps"},
                                       {kDeviceThread, "device"},
                                       {kHangThread, "hangs"}}) {
      meta("thread_name", thread, "name", name);
    }
  }

  void on_span(const SpanPiece& s) override {
    name_lane(s.lane);
    std::string& out = slice(names_.text(s.phase), s.lane, s.begin_ns, s.end_ns);
    if (s.warm) out += "\"warm\":true,";
    if (s.open) out += "\"open\":true,";
    if (s.continued) out += "\"continued\":true,";
    close_args(out);
  }

  void on_step(const StepPiece& s) override {
    std::string& out = slice(fmt::format("step {}", s.step), kStepsThread, s.begin_ns, s.end_ns);
    if (s.data != HW_NO_DATA) out += fmt::format("\"data\":{},", s.data);
    if (s.open) out += "\"open\":true,";
    close_args(out);
  }

  void on_other(const Event& e) override {
    switch (e.type) {
      case EventType::mark:
        return mark(e);
      case EventType::checkpoint:
        return position(e, fmt::format("checkpoint {}", event::checkpoint_state_name(e.name)),
                        e.lane);
      case EventType::restore:
        return position(e,
                        e.name == 0 ? std::string("restored")
                                    : fmt::format("restored from {}", names_.text(e.name)),
                        e.lane);
      case EventType::device_done:
        return position(e, fmt::format("step {} done", e.a), kDeviceThread);
      case EventType::hang: {
        std::string& out = slice("hang", kHangThread, e.a, e.t_ns);
        if (e.b != static_cast<std::int64_t>(HW_RANK_UNKNOWN))
          out += fmt::format("\"rank\":{},", e.b);
        return close_args(out);
      }
      case EventType::attr: {
        std::string label(names_.text(e.name));
        label += "=";
        label += names_.value(e.name, static_cast<event::NameId>(e.a));
        return meta("process_labels", 0, "labels", label);
      }
      default:
        ++counts_.left_out;
        return;
    }
  }

 private:
  // The head of one trace event, up to and without its arguments.
  std::string& begin(std::string_view kind, std::string_view name, std::uint32_t thread) {
    std::string& out = out_.buffer();
    out += ",\n{\"ph\":\"";
    out += kind;
    out += "\",\"name\":";
    append_json_string(out, name);
    fmt::format_to(std::back_inserter(out), ",\"pid\":{},\"tid\":{}", pid_, thread);
    ++counts_.events;
    return out;
  }

  void meta(std::string_view name, std::uint32_t thread, std::string_view key,
            std::string_view text) {
    std::string& out = begin("M", name, thread);
    out += ",\"args\":{\"";
    out += key;
    out += "\":";
    append_json_string(out, text);
    out += "}}";
  }

  std::string& slice(std::string_view name, std::uint32_t thread, std::int64_t begin_ns,
                     std::int64_t end_ns) {
    std::string& out = begin("X", name, thread);
    fmt::format_to(std::back_inserter(out), ",\"ts\":{},\"dur\":{},\"args\":{{",
                   micros(zero_ns_, begin_ns), micros(begin_ns, end_ns));
    return out;
  }

  std::string& instant(std::string_view name, std::uint32_t thread, std::int64_t t_ns, char scope) {
    std::string& out = begin("i", name, thread);
    fmt::format_to(std::back_inserter(out), ",\"s\":\"{}\",\"ts\":{},\"args\":{{", scope,
                   micros(zero_ns_, t_ns));
    return out;
  }

  static void close_args(std::string& out) {
    if (out.back() == ',') out.pop_back();
    out += "}}";
  }

  void mark(const Event& e) {
    const bool ends = e.name == HW_MARK_FAILURE || e.name == HW_MARK_EXIT;
    std::string& out =
        instant(event::mark_name(e.name), e.lane, e.t_ns, e.name == HW_MARK_FAILURE ? 'g' : 'p');
    if (ends) {
      const event::EndInfo end = event::unpack_end(e.a, e.b);
      out += fmt::format("\"exit_code\":{},\"signal\":{},", end.exit_code, end.signal);
      if (end.rank != HW_RANK_UNKNOWN) out += fmt::format("\"of_rank\":{},", end.rank);
      if (end.origin != HW_ORIGIN_NONE) {
        out += fmt::format("\"origin\":\"{}\",", event::origin_name(end.origin));
      }
      if (end.reason != 0) {
        out += "\"reason\":";
        append_json_string(out, names_.text(end.reason));
        out += ',';
      }
    }
    close_args(out);
  }

  void position(const Event& e, std::string_view name, std::uint32_t thread) {
    std::string& out = instant(name, thread, e.t_ns, 't');
    out += fmt::format("\"step\":{},", e.a);
    if (e.type != EventType::device_done && e.b != HW_NO_DATA)
      out += fmt::format("\"data\":{},", e.b);
    close_args(out);
  }

  void name_lane(std::uint16_t lane) {
    if (!named_.insert(lane).second) return;
    meta("thread_name", lane, "name", lane == 0 ? "training thread" : fmt::format("lane {}", lane));
  }

  const ShownNames& names_;
  std::size_t pid_;
  std::int64_t zero_ns_;
  OutFile& out_;
  ExportCounts& counts_;
  std::set<std::uint16_t> named_;
};

}  // namespace

base::Result<ExportCounts> export_perfetto(const event::JobStreams& job, OutFile& out,
                                           const TextRule& rule) {
  const ShownNames names(*job.names, rule);
  ExportCounts counts;
  const std::int64_t zero_ns = earliest(job);
  std::string& buffer = out.buffer();
  buffer += "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"producer\":\"headway\",\"job\":";
  append_json_string(buffer, job.job);
  // As text: a viewer would round the number.
  buffer += fmt::format(",\"zero_ns\":\"{}\"}},\"traceEvents\":[", zero_ns);
  buffer += "\n{\"ph\":\"M\",\"name\":\"headway\",\"pid\":0,\"tid\":0,\"args\":{}}";
  std::size_t pid = 0;
  for (const event::Stream* stream : in_rank_order(job)) {
    const auto source = stream->open();
    if (source == nullptr) {
      ++counts.streams_gone;
      continue;
    }
    PerfettoSink sink(stream->info, names, ++pid, zero_ns, out, counts);
    SpanWalk walk(sink);
    for (auto batch = source->next(); !batch.empty(); batch = source->next()) {
      for (const Event& e : batch) walk.take(e);
      out.flush_some();
      if (!out.status().ok()) return out.status();
    }
    walk.finish();
  }
  out.buffer() += "\n]}\n";
  return counts;
}

}  // namespace headway::interchange
