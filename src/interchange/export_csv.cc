#include "interchange/export_csv.h"

#include <fmt/format.h>

#include <iterator>

#include "interchange/json_text.h"
#include "interchange/span_walk.h"

namespace headway::interchange {
namespace {

using event::Event;
using event::EventType;

class CsvSink final : public SpanSink {
 public:
  CsvSink(const event::StreamInfo& info, const ShownNames& names, OutFile& out,
          ExportCounts& counts)
      : info_(info), names_(names), out_(out), counts_(counts) {}

  void on_span(const SpanPiece& s) override {
    row("span", s.lane, names_.text(s.phase), s.begin_ns, s.open ? nullptr : &s.end_ns, nullptr,
        HW_NO_DATA,
        s.warm        ? "warm"
        : s.continued ? "continued"
        : s.open      ? "open"
                      : "");
  }

  void on_step(const StepPiece& s) override {
    row("step", s.lane, "", s.begin_ns, s.open ? nullptr : &s.end_ns, &s.step, s.data,
        s.open ? "open" : "");
  }

  void on_other(const Event& e) override {
    const std::int64_t* step = &e.a;
    switch (e.type) {
      case EventType::mark:
        return mark(e);
      case EventType::checkpoint:
        return row("checkpoint", e.lane, event::checkpoint_state_name(e.name), e.t_ns, &e.t_ns,
                   step, e.b, "");
      case EventType::restore:
        return row("restore", e.lane, e.name == 0 ? "" : names_.text(e.name), e.t_ns, &e.t_ns, step,
                   e.b, "");
      case EventType::device_done:
        return row("device_done", e.lane, "", e.t_ns, &e.t_ns, step, HW_NO_DATA, "");
      case EventType::hang:
        return row("hang", e.lane, "", e.a, &e.t_ns, nullptr, HW_NO_DATA,
                   fmt::format("rank={}", rank_text(static_cast<std::uint32_t>(e.b))));
      case EventType::attr:
        return row("attr", e.lane, names_.text(e.name), e.t_ns, &e.t_ns, nullptr, HW_NO_DATA,
                   names_.value(e.name, static_cast<event::NameId>(e.a)));
      default:
        ++counts_.left_out;
        return;
    }
  }

 private:
  static std::string rank_text(std::uint32_t rank) {
    return rank == event::kAgentRank ? "agent" : std::to_string(rank);
  }

  void mark(const Event& e) {
    std::string detail;
    if (e.name == HW_MARK_FAILURE || e.name == HW_MARK_EXIT) {
      const event::EndInfo end = event::unpack_end(e.a, e.b);
      detail = fmt::format("exit_code={} signal={} origin={}", end.exit_code, end.signal,
                           event::origin_name(end.origin));
      if (end.rank != HW_RANK_UNKNOWN) detail += fmt::format(" of_rank={}", end.rank);
      if (end.reason != 0) detail += fmt::format(" reason={}", names_.text(end.reason));
    }
    row("mark", e.lane, event::mark_name(e.name), e.t_ns, &e.t_ns, nullptr, HW_NO_DATA, detail);
  }

  void row(std::string_view kind, std::uint16_t lane, std::string_view name, std::int64_t begin_ns,
           const std::int64_t* end_ns, const std::int64_t* step, std::int64_t data,
           std::string_view detail) {
    std::string& out = out_.buffer();
    fmt::format_to(std::back_inserter(out), "{},", kind);
    append_csv_field(out, info_.job);
    fmt::format_to(std::back_inserter(out), ",{},{},{},", info_.attempt, rank_text(info_.rank),
                   lane);
    append_csv_field(out, name);
    out += ',';
    if (step != nullptr) out += std::to_string(*step);
    out += ',';
    if (data != HW_NO_DATA) out += std::to_string(data);
    fmt::format_to(std::back_inserter(out), ",{},", begin_ns);
    if (end_ns != nullptr) {
      fmt::format_to(std::back_inserter(out), "{},{}", *end_ns, length_ns(begin_ns, *end_ns));
    } else {
      out += ',';
    }
    out += ',';
    append_csv_field(out, detail);
    out += "\r\n";
    ++counts_.events;
  }

  const event::StreamInfo& info_;
  const ShownNames& names_;
  OutFile& out_;
  ExportCounts& counts_;
};

}  // namespace

base::Result<ExportCounts> export_csv(const event::JobStreams& job, OutFile& out,
                                      const TextRule& rule) {
  const ShownNames names(*job.names, rule);
  ExportCounts counts;
  out.buffer() +=
      "kind,job,attempt,rank,lane,name,step,data,begin_ns,end_ns,duration_ns,detail\r\n";
  for (const event::Stream* stream : in_rank_order(job)) {
    const auto source = stream->open();
    if (source == nullptr) {
      ++counts.streams_gone;
      continue;
    }
    CsvSink sink(stream->info, names, out, counts);
    SpanWalk walk(sink);
    for (auto batch = source->next(); !batch.empty(); batch = source->next()) {
      for (const Event& e : batch) walk.take(e);
      out.flush_some();
      if (!out.status().ok()) return out.status();
    }
    walk.finish();
  }
  return counts;
}

}  // namespace headway::interchange
