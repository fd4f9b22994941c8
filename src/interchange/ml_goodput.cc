#include "interchange/ml_goodput.h"

#include <fmt/format.h>
#define SIMDJSON_EXCEPTIONS 0  // every error is a code: nothing here may throw
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "interchange/decimal_time.h"

namespace headway::interchange {
namespace {

using base::Result;
using base::Status;
namespace dom = simdjson::dom;

constexpr std::size_t kNotesMax = 5;

struct TimeKey {
  std::string_view key;
  GoodputKind kind;
};
constexpr std::array<TimeKey, 15> kTimeKeys = {{
    {"step_start_time", GoodputKind::step_start},
    {"job_start_time", GoodputKind::job_start},
    {"job_end_time", GoodputKind::job_end},
    {"tpu_init_start_time", GoodputKind::tpu_init_start},
    {"tpu_init_end_time", GoodputKind::tpu_init_end},
    {"training_prep_start_time", GoodputKind::training_prep_start},
    {"training_prep_end_time", GoodputKind::training_prep_end},
    {"data_loading_start_time", GoodputKind::data_loading_start},
    {"data_loading_end_time", GoodputKind::data_loading_end},
    {"custom_badput_event_start_time", GoodputKind::custom_start},
    {"custom_badput_event_end_time", GoodputKind::custom_end},
    {"elastic_wait_start_time", GoodputKind::elastic_wait_start},
    {"elastic_wait_end_time", GoodputKind::elastic_wait_end},
    {"elastic_reinit_start_time", GoodputKind::elastic_reinit_start},
    {"elastic_reinit_end_time", GoodputKind::elastic_reinit_end},
}};

std::optional<std::int64_t> time_of(const dom::element& value) {
  double seconds = 0;
  if (value.get_double().get(seconds)) return std::nullopt;
  return seconds_to_ns(seconds);
}

std::string text_of(const dom::object& entry, std::string_view key) {
  std::string_view text;
  if (entry.at_key(key).get_string().get(text)) return {};
  return std::string(cut_text(text, kTextBytesMax));
}

// The checkpointing library writes steps as numbers or as text.
std::int64_t step_of(const dom::object& entry, std::string_view key) {
  std::int64_t step = -1;
  if (entry.at_key(key).get_int64().get(step) == simdjson::SUCCESS) return step;
  return integer_text(text_of(entry, key)).value_or(-1);
}

// {"event_type":"save"|"restore"|"emergency_restore", ..._start_time, ..._duration_secs}
Status read_checkpoint(const dom::object& entry, std::string_view type, GoodputEntry& out,
                       bool& used) {
  const bool save = type == "save";
  out.kind = save ? GoodputKind::save : GoodputKind::restore;
  out.step = step_of(entry, "step");
  const std::string_view stem = save ? "checkpoint_manager_blocking" : "checkpoint_manager";
  dom::element begin, length;
  if (entry.at_key(fmt::format("{}_start_time", stem)).get(begin) ||
      entry.at_key(fmt::format("{}_duration_secs", stem)).get(length)) {
    used = false;
    return {};
  }
  const auto t_ns = time_of(begin);
  const auto duration_ns = time_of(length);
  if (!t_ns || !duration_ns || *duration_ns < 0 || *t_ns > kTimeMaxNs - *duration_ns) {
    return Status::invalid(
        fmt::format("\"{}_start_time\" or \"_duration_secs\" is not a time", stem));
  }
  out.t_ns = *t_ns;
  out.duration_ns = *duration_ns;
  return {};
}

Status read_entry(dom::element element, GoodputEntry& out, bool& used) {
  dom::object entry;
  if (element.get_object().get(entry)) return Status::invalid("an entry must be a JSON object");
  // What Cloud Logging wraps around an entry when it is exported.
  for (const std::string_view wrapper : {"jsonPayload", "payload"}) {
    dom::object inner;
    if (entry.at_key(wrapper).get_object().get(inner) == simdjson::SUCCESS) {
      entry = inner;
      break;
    }
  }
  out.job = text_of(entry, "job_name");
  if (out.job.size() > kJobBytesMax) return Status::invalid("\"job_name\" is too long");
  if (const std::string type = text_of(entry, "event_type");
      type == "save" || type == "restore" || type == "emergency_restore") {
    return read_checkpoint(entry, type, out, used);
  }
  for (const TimeKey& known : kTimeKeys) {
    dom::element value;
    if (entry.at_key(known.key).get(value)) continue;
    const auto t_ns = time_of(value);
    if (!t_ns) return Status::invalid(fmt::format("\"{}\" is not a time in seconds", known.key));
    out.kind = known.kind;
    out.t_ns = *t_ns;
    if (known.kind == GoodputKind::step_start) {
      out.step = step_of(entry, "step_count");
      if (out.step < 0 || out.step > kCountMax) {
        return Status::invalid("\"step_count\" must be a step's number");
      }
    }
    out.name = text_of(entry, "custom_badput_event_type");
    if (out.name.empty()) out.name = text_of(entry, "elastic_wait_event_type");
    return {};
  }
  used = false;
  return {};
}

class LogReader {
 public:
  explicit LogReader(bool skip_bad) : skip_bad_(skip_bad) {}

  Status take(dom::element element, std::string_view place, std::uint64_t number) {
    GoodputEntry entry;
    bool used = true;
    if (Status status = read_entry(element, entry, used); !status.ok()) {
      return bad(status.message(), place, number);
    }
    if (!used) {
      ++log.ignored;
      return {};
    }
    if (log.entries.size() >= kGoodputEntriesMax) {
      return Status::invalid(fmt::format("more than {} entries", kGoodputEntriesMax));
    }
    log.entries.push_back(std::move(entry));
    return {};
  }

  Status bad(std::string_view what, std::string_view place, std::uint64_t number) {
    std::string message = fmt::format("{} {}: {}", place, number, what);
    if (!skip_bad_) return Status::invalid(std::move(message));
    ++log.bad;
    if (log.notes.size() < kNotesMax) log.notes.push_back(std::move(message));
    return {};
  }

  GoodputLog log;

 private:
  bool skip_bad_;
};

Status read_array(std::string_view text, LogReader& reader) {
  dom::parser parser;
  dom::element document;
  if (const auto e = parser.parse(text.data(), text.size()).get(document)) {
    return Status::invalid(fmt::format("not JSON: {}", simdjson::error_message(e)));
  }
  dom::array entries;
  if (document.get_array().get(entries)) return Status::invalid("not a JSON array of entries");
  std::uint64_t number = 0;
  for (const dom::element entry : entries) {
    if (Status status = reader.take(entry, "entry", ++number); !status.ok()) return status;
  }
  return {};
}

Status read_lines(std::string_view text, LogReader& reader) {
  dom::parser parser;
  std::uint64_t number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t at = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, at - from);
    from = at + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    dom::element entry;
    Status status;
    if (line.size() > kLineBytesMax) {
      status = reader.bad("the line is too long", "line", number);
    } else if (const auto e = parser.parse(line.data(), line.size()).get(entry)) {
      status = reader.bad(fmt::format("not JSON: {}", simdjson::error_message(e)), "line", number);
    } else {
      status = reader.take(entry, "line", number);
    }
    if (!status.ok()) return status;
  }
  return {};
}

// Walks the entries of one job in time and tells them as events.
class Teller {
 public:
  Teller(std::string_view job, std::string_view origin, StreamBuilder& builder)
      : origin_(origin), builder_(builder) {
    line_.job = job;
    line_.has_time = true;
  }

  void tell(const GoodputEntry& e) {
    if (e.kind == GoodputKind::job_start || attempt_ == 0) begin_attempt(e.t_ns);
    last_ns_ = std::max(last_ns_, e.t_ns + e.duration_ns);
    switch (e.kind) {
      case GoodputKind::job_start:
        break;
      case GoodputKind::tpu_init_start:
        return span(EventType::begin, e.t_ns, "device_init");
      case GoodputKind::tpu_init_end:
        return span(EventType::end, e.t_ns, "device_init");
      case GoodputKind::training_prep_start:
        return span(EventType::begin, e.t_ns, "pre_train");
      case GoodputKind::training_prep_end:
        return span(EventType::end, e.t_ns, "pre_train");
      case GoodputKind::data_loading_start:
        loading_ = step_seen_ ? "data_wait" : "get_first_batch_data";
        return span(EventType::begin, e.t_ns, loading_);
      case GoodputKind::data_loading_end:
        if (!loading_.empty()) span(EventType::end, e.t_ns, loading_);
        loading_ = {};
        return;
      case GoodputKind::custom_start:
        end_step(e.t_ns);
        return span(EventType::begin, e.t_ns, custom_phase(e.name));
      case GoodputKind::custom_end:
        return span(EventType::end, e.t_ns, custom_phase(e.name));
      case GoodputKind::elastic_wait_start:
        end_step(e.t_ns);
        return span(EventType::begin, e.t_ns, "elastic_wait");
      case GoodputKind::elastic_wait_end:
        return span(EventType::end, e.t_ns, "elastic_wait");
      case GoodputKind::elastic_reinit_start:
        end_step(e.t_ns);
        return span(EventType::begin, e.t_ns, "elastic_reinit");
      case GoodputKind::elastic_reinit_end:
        return span(EventType::end, e.t_ns, "elastic_reinit");
      case GoodputKind::save:
        return checkpoint(e, "checkpoint_blocked");
      case GoodputKind::restore:
        return checkpoint(e, "restore");
      case GoodputKind::step_start:
        return begin_step(e);
      case GoodputKind::job_end:
        return end_job(e.t_ns);
    }
  }

  void finish() {
    if (ended_ns_) mark(*ended_ns_, HW_MARK_JOB_END);
  }

  [[nodiscard]] Status status() const { return status_; }

 private:
  using EventType = event::EventType;

  static std::string_view custom_phase(std::string_view name) {
    if (name.empty()) return "custom_badput";
    if (name.find("eval") != std::string_view::npos) return "eval";
    return name;
  }

  void add(Line line) {
    line.attempt = attempt_;
    if (status_.ok()) status_ = builder_.add(line, origin_);
  }

  void span(EventType type, std::int64_t t_ns, std::string_view phase) {
    Line line = line_;
    line.type = type;
    line.t_ns = t_ns;
    line.name = phase;
    add(line);
  }

  void mark(std::int64_t t_ns, std::uint16_t mark, int origin = HW_ORIGIN_NONE,
            std::string_view reason = {}) {
    Line line = line_;
    line.type = EventType::mark;
    line.t_ns = t_ns;
    line.code = mark;
    line.end.origin = origin;
    line.end.rank = 0;
    line.name = reason;
    add(line);
  }

  void step_event(EventType type, std::int64_t t_ns, std::int64_t step) {
    Line line = line_;
    line.type = type;
    line.t_ns = t_ns;
    line.a = step;
    line.b = HW_NO_DATA;
    add(line);
  }

  // A job that starts again without having said that it ended was cut off after its last entry.
  void begin_attempt(std::int64_t t_ns) {
    if (attempt_ > 0 && !ended_ns_) {
      mark(last_ns_, HW_MARK_FAILURE, HW_ORIGIN_UNKNOWN, "started again without a job_end_time");
      mark(last_ns_, HW_MARK_EXIT, HW_ORIGIN_UNKNOWN);
    }
    ++attempt_;
    step_seen_ = false;
    open_step_.reset();
    loading_ = {};
    ended_ns_.reset();
    last_ns_ = t_ns;
    mark(t_ns, HW_MARK_LAUNCHER_START);
    mark(t_ns, HW_MARK_TRAINER_START);
  }

  void end_step(std::int64_t t_ns) {
    if (open_step_) step_event(EventType::step_end, t_ns, *open_step_);
    open_step_.reset();
  }

  void begin_step(const GoodputEntry& e) {
    end_step(e.t_ns);
    step_event(EventType::step, e.t_ns, e.step);
    open_step_ = e.step;
    step_seen_ = true;
  }

  void end_job(std::int64_t t_ns) {
    end_step(t_ns);
    mark(t_ns, HW_MARK_EXIT);
    ended_ns_ = t_ns;
  }

  void checkpoint(const GoodputEntry& e, std::string_view phase) {
    span(EventType::begin, e.t_ns, phase);
    span(EventType::end, e.t_ns + e.duration_ns, phase);
    if (e.step < 0) return;
    Line line = line_;
    line.t_ns = e.t_ns + e.duration_ns;
    line.a = e.step;
    line.b = HW_NO_DATA;
    line.type = e.kind == GoodputKind::save ? EventType::checkpoint : EventType::restore;
    // When an asynchronous save is safe on disk is not logged: staged is what is known.
    if (e.kind == GoodputKind::save) line.code = HW_CHECKPOINT_STAGED;
    add(line);
  }

  Line line_;
  std::string_view origin_;
  StreamBuilder& builder_;
  Status status_;
  std::int64_t attempt_ = 0;
  std::int64_t last_ns_ = 0;
  bool step_seen_ = false;
  std::optional<std::int64_t> open_step_;
  std::optional<std::int64_t> ended_ns_;
  std::string_view loading_;
};

}  // namespace

Result<GoodputLog> parse_goodput(std::string_view text, bool skip_bad) {
  LogReader reader(skip_bad);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool array = first != std::string_view::npos && text[first] == '[';
  Status status = array ? read_array(text, reader) : read_lines(text, reader);
  if (!status.ok()) return status;
  return std::move(reader.log);
}

Status add_goodput(const GoodputLog& log, std::string_view job, std::string_view origin,
                   StreamBuilder& builder) {
  std::map<std::string_view, std::vector<const GoodputEntry*>> jobs;
  for (const GoodputEntry& e : log.entries) {
    jobs[job.empty() ? std::string_view(e.job) : job].push_back(&e);
  }
  for (auto& [name, entries] : jobs) {
    if (name.empty()) {
      return Status::invalid("some entries have no \"job_name\": name the job with --job");
    }
    std::sort(entries.begin(), entries.end(), [](const GoodputEntry* x, const GoodputEntry* y) {
      return std::tie(x->t_ns, x->kind, x->step, x->duration_ns, x->name) <
             std::tie(y->t_ns, y->kind, y->step, y->duration_ns, y->name);
    });
    // The same entry delivered twice would otherwise look like one more attempt.
    const auto same = [](const GoodputEntry* x, const GoodputEntry* y) {
      return std::tie(x->t_ns, x->kind, x->step, x->duration_ns, x->name) ==
             std::tie(y->t_ns, y->kind, y->step, y->duration_ns, y->name);
    };
    entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
    Teller teller(name, origin, builder);
    for (const GoodputEntry* e : entries) teller.tell(*e);
    teller.finish();
    if (!teller.status().ok()) return teller.status();
  }
  return {};
}

}  // namespace headway::interchange
