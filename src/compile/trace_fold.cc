#include "compile/trace_fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/cut_text.h"
#include "compile/cache_ask.h"
#include "compile/dom.h"
#include "compile/fold_passes.h"
#include "compile/fold_sizes.h"
#include "compile/fold_sources.h"
#include "compile/graph_digest.h"
#include "compile/guard_sources.h"
#include "compile/kept_bytes.h"
#include "compile/recompile_reason.h"
#include "compile/user_stack.h"

namespace headway::compile {
namespace {

constexpr std::uint64_t kProgressBytes = 4 << 20;
constexpr std::size_t kCallBytes = 128;  // of a call in a StackTrie

// Events whose time is that of a compiler at work, or of waiting for one.
constexpr std::string_view kCppCompiler = "compile_file";
constexpr std::array<std::string_view, 3> kCompilers = {kCppCompiler, "async_compile.wait",
                                                        "async_compile.precompile"};

std::string cut(std::string_view text, std::size_t bytes_max = kTextBytesMax) {
  return std::string(base::cut_text(text, bytes_max));
}

// The name of an event without parsing all of it: torch writes it first.
std::string_view event_name(std::string_view payload) {
  constexpr std::string_view kKey = "\"name\": \"";
  const std::size_t at = payload.substr(0, 64).find(kKey);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = payload.substr(at + kKey.size());
  return rest.substr(0, rest.find('"'));
}

std::string first_line(std::string_view text) {
  return cut(text.substr(0, text.find('\n')));
}

}  // namespace

struct TraceFold::State {
  // What a compilation needs only until all is known.
  struct Work {
    CumulativeTimes forward, backward;
    CompilerSpans compilers;
  };

  State(std::string path, ComponentTable& table, TraceRoom* job)
      : components(table), components_left_out(table.left_out()), room(job) {
    log.path = std::move(path);
  }

  Compile* compile_of(const TraceRecord& record);
  template <typename T>
  void push(std::vector<T>& into, T one, std::size_t max = kPerCompileMax) {
    if (into.size() >= max) {
      ++log.left_out;
    } else if (room == nullptr || room->take_detail(kept_bytes(one))) {
      into.push_back(std::move(one));
    } else {
      ++log.no_room;
    }
  }

  // Dynamo says it all again when it begins again.
  template <typename T>
  void push_new(std::vector<T>& into, T one) {
    if (std::ranges::find(into, one) == into.end()) push(into, std::move(one));
  }

  // What was gathered by others, once it is known.
  template <typename T>
  void keep_what_fits(std::vector<T>& all) {
    if (room == nullptr) return;
    const auto end = std::ranges::find_if_not(
        all, [this](const T& one) { return room->take_detail(kept_bytes(one)); });
    log.no_room += static_cast<std::uint64_t>(all.end() - end);
    all.erase(end, all.end());
  }
  void hold_names(const Compile& compile) {
    if (room != nullptr) room->hold(heap_bytes(compile.name, compile.file));
  }
  // `grow` adds calls to `stacks` and says which was the last; 0 where there is no room.
  template <typename F>
  std::uint32_t keep_calls(const StackTrie& stacks, const F& grow) {
    if (room != nullptr && room->is_tight()) {
      ++log.no_room;
      return 0;
    }
    const std::size_t before = stacks.nodes().size();
    const std::uint32_t last = grow();
    if (room != nullptr) room->hold((stacks.nodes().size() - before) * kCallBytes);
    return last;
  }

  void ignore(std::string_view kind);
  void add_artifact(const TraceRecord& record, std::string_view name);
  void add_metrics(const TraceRecord& record, const dom::element& metrics, bool backward);
  void add_start(const TraceRecord& record, const dom::element& start);
  void add_event(const TraceRecord& record);
  void add_tuning(const TraceRecord& record, const dom::element& event, std::string_view name);
  void add_named(const TraceRecord& record, std::string_view name);
  void add_ask(Compile& compile, const TraceRecord& record, AskName name);
  void add_break(Compile& compile, const TraceRecord& record);
  void add_recompile(Compile& compile, const TraceRecord& record);
  void add_sizes(const TraceRecord& record, const dom::element& metadata);

  ProcessLog log;
  ComponentTable& components;
  const std::uint64_t components_left_out;  // by the logs before this one
  TraceRoom* const room;                    // may be null
  std::map<CompileId, std::size_t> by_id;
  std::vector<Work> work;
  AutotuneFold autotune;
  FileNames files;
  std::optional<FoldSources> sources;
  dom::parser head_parser, payload_parser;
};

Compile* TraceFold::State::compile_of(const TraceRecord& record) {
  CompileId id = record.envelope.id;
  if (!id.known()) return nullptr;
  if (id.frame >= 0) id.compile = std::max(id.compile, 0);  // as its text says
  const auto found = by_id.find(id);
  if (found != by_id.end()) return &log.compiles[found->second];
  if (log.compiles.size() >= kCompilesMax) {
    ++log.left_out;
    log.has_all = false;
    return nullptr;
  }
  constexpr std::size_t kBytes = place_bytes<Compile> + place_bytes<Work> + sizeof(CompileId) + 64;
  if (room != nullptr && !room->take(kBytes)) {
    ++log.no_room;
    log.has_all = false;
    return nullptr;
  }
  by_id.emplace(id, log.compiles.size());
  log.compiles.emplace_back();
  work.emplace_back();
  log.compiles.back().id = id;
  log.compiles.back().first_line = record.line;
  return &log.compiles.back();
}

void TraceFold::State::add_start(const TraceRecord& record, const dom::element& start) {
  Compile* const compile = compile_of(record);
  dom::array stack;
  if (compile == nullptr || !compile->name.empty() ||
      start.at_key("stack").get_array().get(stack)) {
    return;
  }
  if (stack.begin() == stack.end()) return;
  dom::element function;  // the last one
  for (const dom::element frame : stack) function = frame;
  compile->name = dom::text(function, "name", kNameBytesMax);
  compile->file = files.of(function);
  compile->line = dom::number(function, "line");
  compile->stack =
      keep_calls(log.stacks, [&] { return add_frames(log.stacks, files, start.at_key("stack")); });
  hold_names(*compile);
}

void TraceFold::State::add_metrics(const TraceRecord& record, const dom::element& metrics,
                                   bool backward) {
  Compile* const compile = compile_of(record);
  if (compile == nullptr) return ignore(record.envelope.type);
  Work& own = work[static_cast<std::size_t>(compile - log.compiles.data())];
  Pass& pass = backward ? compile->backward : compile->forward;
  pass.there = true;
  pass.metrics = {record.json_at, record.prefix.json.size()};
  pass.start_us = dom::number(metrics, "start_time_us");
  pass.duration_us = std::max<std::int64_t>(dom::number(metrics, "duration_us"), 0);
  if (pass.duration_us == 0) {  // older versions of torch count seconds
    double seconds = 0;
    const auto key = backward ? "inductor_compile_time_s" : "entire_frame_compile_time_s";
    if (!metrics.at_key(key).get_double().get(seconds) && seconds > 0 && seconds < 1e9) {
      pass.duration_us = static_cast<std::int64_t>(seconds * 1e6);
    }
  }
  pass.autotune_us = dom::number(metrics, "compile_time_autotune_time_us");
  CumulativeTimes& times = backward ? own.backward : own.forward;
  times.total_us = pass.duration_us;
  times.aot_us = dom::number(metrics, "aot_autograd_cumulative_compile_time_us");
  times.inductor_us = dom::number(metrics, "inductor_cumulative_compile_time_us");
  times.codegen_us = dom::number(metrics, "inductor_code_gen_cumulative_compile_time_us");
  times.kernels_us = dom::number(metrics, "triton_compile_time_us");
  if (backward) return;
  compile->finished = true;
  if (const auto name = dom::text(metrics, "co_name", kNameBytesMax); !name.empty()) {
    compile->name = name;
    compile->file = dom::text(metrics, "co_filename", kNameBytesMax);
    compile->line = dom::number(metrics, "co_firstlineno");
    hold_names(*compile);
  }
  compile->guards = dom::number(metrics, "guard_count");
  compile->ops = dom::number(metrics, "graph_op_count");
  compile->inputs = dom::number(metrics, "graph_input_count");
  compile->failure.type = dom::text(metrics, "fail_type", kNameBytesMax);
  compile->failure.reason = dom::text(metrics, "fail_reason", kTextBytesMax);
  compile->failure.where = dom::text(metrics, "fail_user_frame_filename", kNameBytesMax);
  if (const auto line = dom::number(metrics, "fail_user_frame_lineno"); line > 0) {
    compile->failure.where += ":" + std::to_string(line);
  }
  if (dom::array reasons; !metrics.at_key("restart_reasons").get_array().get(reasons)) {
    for (const dom::element one : reasons) {
      std::string_view text;
      if (!one.get_string().get(text)) push(compile->restart_reasons, first_line(text));
    }
  }
  const std::string_view recompile = dom::text(metrics, "recompile_reason");
  if (!recompile.empty() && compile->recompile_reasons.empty()) {
    push(compile->recompile_reasons, cut(recompile));
  }
  if (log.torch_version.empty()) log.torch_version = dom::text(metrics, "pytorch_version", 200);
  if (log.python_version.empty()) log.python_version = dom::text(metrics, "python_version", 200);
}

void TraceFold::State::add_event(const TraceRecord& record) {
  const std::string_view name = event_name(record.payload);
  const bool compiler = std::find(kCompilers.begin(), kCompilers.end(), name) != kCompilers.end();
  const bool tuning = AutotuneFold::is_tuning(name);
  const bool change = name == "automatic_dynamic";
  if (!compiler && !tuning && !change) return;
  dom::element event;
  if (!dom::parse(payload_parser, record.payload, event)) return;
  if (tuning) return add_tuning(record, event, name);
  Compile* const compile = compile_of(record);
  if (compile == nullptr) return;
  if (compiler) {
    CompilerSpans& spans = work[static_cast<std::size_t>(compile - log.compiles.data())].compilers;
    const std::string_view phase = dom::text(event, "ph");
    const std::int64_t at_us = dom::number(event, "ts");
    if (phase == "B") spans.begin(name, at_us);
    if (phase == "B" && name == kCppCompiler) ++compile->compiler_runs;
    if (phase == "E") spans.end(name, at_us);
    return;
  }
  dom::element args;
  if (event.at_key("args").get(args)) return;
  DynamicChange out;
  const std::string_view source = dom::text(args, "name");
  out.source = cut(source, kSourceBytesMax);
  out.whole = out.source.size() == source.size();
  const std::int64_t dim = dom::number(args, "dim_changed", -1);
  out.dim = dim >= 0 && dim < 1000 ? static_cast<std::int32_t>(dim) : -1;
  out.reason = dom::text(args, "reason", kNameBytesMax);
  out.was = dom::text(args, "cached", 100);
  out.is = dom::text(args, "new", 100);
  push(compile->changes, std::move(out));
}

// Kernels are tuned when they first run, too: then the record is of no compilation, and only the
// event's arguments say of which one the kernel is.
void TraceFold::State::add_tuning(const TraceRecord& record, const dom::element& event,
                                  std::string_view name) {
  TuneEvent out;
  out.name = name;
  const std::string_view phase = dom::text(event, "ph");
  out.phase = phase.empty() ? ' ' : phase.front();
  out.at_us = dom::number(event, "ts");
  out.id = record.envelope.id;
  if (dom::element args; !event.at_key("args").get(args)) {
    out.kernel = dom::text(args, "kernel_name");
    out.shapes = dom::text(args, "autotune_shape");
    out.stats = dom::text(args, "autotune_choices_stats");
    if (const auto id = parse_compile_id(dom::text(args, "compile_id")); id && !out.id.known()) {
      out.id = *id;
    }
  }
  autotune.add(out);
}

void TraceFold::State::add_ask(Compile& compile, const TraceRecord& record, AskName name) {
  CacheAsk ask;
  ask.kind = name.kind;
  ask.outcome = name.outcome;
  ask.place = {record.payload_at, record.payload_bytes};
  dom::element told;
  if (dom::parse(payload_parser, record.payload, told)) {
    ask.key = dom::text(told, "key", kNameBytesMax);
    std::string_view reason = dom::text(told, "cache_bypass_reason");
    if (reason.empty()) reason = dom::text(told, "cache_bypass_exception_str");
    if (reason.empty()) reason = dom::text(told, "_reason");  // of a precompiled function
    if (ask.outcome == CacheOutcome::bypass) ask.reason = cut(bypass_reason(reason));
    const std::string_view error = dom::text(told, "error");
    if (ask.outcome == CacheOutcome::bypass && ask.reason.empty() && !error.empty()) {
      ask.reason = cut(fmt::format("cannot be kept: {} (its {})", bypass_reason(error),
                                   dom::text(told, "field")));
    }
    ask.saved_us = dom::number(told, "time_saved_ns") / 1000;
    ask.looked_us = dom::number(told, "cache_event_time") / 1000;
    ask.taken_us = dom::number(told, "time_taken_ns") / 1000;
    if (dom::array list; !told.at_key("components").get_array().get(list)) {
      const std::uint64_t left_out = components.left_out();
      for (const dom::element one : list) {
        std::string_view line;
        if (one.get_string().get(line)) continue;
        if (const auto id = components.add(line); id != ComponentTable::kNone) {
          ask.components.push_back(id);
        }
      }
      // Without some of them, what is missing would look like what has changed.
      if (components.left_out() != left_out) ask.components.clear();
    }
  }
  push(compile.asks, std::move(ask));
}

void TraceFold::State::add_break(Compile& compile, const TraceRecord& record) {
  const std::string text = payload_text(record.payload.substr(0, 16 * kTextBytesMax));
  GraphBreak out;
  out.place = {record.payload_at, record.payload_bytes};
  constexpr std::string_view kAt = "Graph break in user code at ";
  constexpr std::string_view kReason = "Graph Break Reason: ";
  if (const auto at = text.find(kAt); at != std::string::npos) {
    out.where = first_line(std::string_view(text).substr(at + kAt.size()));
  }
  const auto at = text.find(kReason);
  std::string_view rest(text);
  if (at != std::string::npos) rest.remove_prefix(at + kReason.size());
  out.reason = first_line(rest);
  // "Encountered graph break when attempting to trace CALL: …:" tells less than what follows it.
  if (const auto next = rest.find("\n\n");
      out.reason.ends_with(':') && next != std::string_view::npos) {
    out.reason = first_line(rest.substr(next + 2));
  }
  out.stack = keep_calls(log.code, [&] { return add_traceback(log.code, text); });
  push(compile.breaks, std::move(out));
}

void TraceFold::State::add_sizes(const TraceRecord& record, const dom::element& metadata) {
  const std::string_view type = record.envelope.type;
  Compile* const compile = compile_of(record);
  if (compile == nullptr) return ignore(type);
  const auto code = [&] { return add_frames(log.code, files, metadata.at_key("user_stack")); };
  if (type == kSpecialisedRecord) {
    Specialised out = read_specialised(metadata);
    out.stack = keep_calls(log.code, code);
    push_new(compile->specialised, std::move(out));
  } else if (type == kSizeGuardRecord) {
    SizeGuard out = read_size_guard(metadata);
    out.stack = keep_calls(log.code, code);
    push_new(compile->size_guards, std::move(out));
  } else {
    push_new(compile->symbols, read_symbol(metadata));
  }
}

void TraceFold::State::add_recompile(Compile& compile, const TraceRecord& record) {
  // Torch calls it JSON, and writes one reason as it is, or a JSON list of several.
  dom::element list;
  dom::array reasons;
  compile.recompile_reasons.clear();  // the metrics had only one of them
  if (dom::parse(payload_parser, record.payload, list) && !list.get_array().get(reasons)) {
    for (const dom::element one : reasons) {
      std::string_view text;
      if (!one.get_string().get(text)) push(compile.recompile_reasons, cut(text));
    }
    return;
  }
  const std::string text = payload_text(record.payload.substr(0, 64 * kTextBytesMax));
  for (const std::string_view reason : split_recompile_reasons(text)) {
    push(compile.recompile_reasons, cut(reason));
  }
}

void TraceFold::State::ignore(std::string_view kind) {
  const std::string name = cut(kind, kNameBytesMax);
  const bool known = log.ignored.contains(name) || log.ignored.size() < kIgnoredKindsMax;
  ++log.ignored[known ? name : "other"];
}

void TraceFold::State::add_artifact(const TraceRecord& record, std::string_view name) {
  if (record.payload_bytes == 0) return ignore(name);
  Artifact out{
      cut(name, kNameBytesMax), {record.payload_at, record.payload_bytes}, record.envelope.attempt};
  if (!record.envelope.id.known()) {
    push(log.artifacts, std::move(out), kArtifactsMax);
  } else if (Compile* const compile = compile_of(record)) {
    push(compile->artifacts, std::move(out), kArtifactsMax);
  }
}

// An `artifact` record: its name says what it is.
void TraceFold::State::add_named(const TraceRecord& record, std::string_view name) {
  if (name == "torch_version") {
    dom::element version;
    if (dom::parse(payload_parser, record.payload, version)) {
      log.torch_version = dom::text(version, "pytorch_version", 200);
    }
  }
  Compile* const compile = compile_of(record);
  if (const auto ask = ask_name(name); ask && compile != nullptr) {
    add_ask(*compile, record, *ask);
  } else if (name == "recompile_reasons" && compile != nullptr) {
    add_recompile(*compile, record);
  } else if (name == "dynamo_graph_break_reason" && compile != nullptr) {
    add_break(*compile, record);
  } else if (name == "triton_kernel_info") {
    autotune.add_kernel_info(record.payload, record.envelope.id);
  }
  if (sources && name.ends_with("_code_state")) sources->take_state(payload_text(record.payload));
  add_artifact(record, name);
}

TraceFold::TraceFold(std::string path, ComponentTable& components, bool sources, TraceRoom* room)
    : state_(std::make_unique<State>(std::move(path), components, room)) {
  if (room != nullptr) room->hold(sizeof(ProcessLog) + state_->log.path.capacity());
  if (sources) state_->sources.emplace();
}
TraceFold::~TraceFold() = default;

void TraceFold::add(const TraceRecord& record) {
  State& s = *state_;
  const Envelope& envelope = record.envelope;
  if (envelope.rank >= 0) s.log.rank = envelope.rank;
  if (s.log.process == 0) s.log.process = record.prefix.process;
  const std::string_view type = envelope.type;
  if (type == "chromium_event") return s.add_event(record);
  const bool forward = type == "compilation_metrics";
  const bool backward = type.starts_with("bwd_compilation_metrics") ||
                        type == "aot_autograd_backward_compilation_metrics";
  const bool artifact = type == "artifact";
  if (s.sources && type == "dynamo_cpp_guards_str") {
    s.sources->take_guards(record.payload, envelope.id.frame);
    if (Compile* const compile = s.compile_of(record)) {
      compile->float_guards = float_guards(record.payload);
    }
  }
  if (type == "dynamo_output_graph" && record.payload_bytes > 0) {
    if (Compile* const compile = s.compile_of(record))
      compile->graph = graph_digest(record.payload);
  }
  const bool sizes = is_about_sizes(type);
  if (!forward && !backward && !artifact && !sizes && type != "str" && type != "dynamo_start") {
    return s.add_artifact(record, type);
  }
  dom::element metadata;
  if (!dom::parse(s.head_parser, envelope.metadata, metadata)) return s.ignore(type);
  if (artifact) return s.add_named(record, dom::text(metadata, "name"));
  if (type == "str") return s.files.add(metadata);
  if (sizes) return s.add_sizes(record, metadata);
  if (type == "dynamo_start") return s.add_start(record, metadata);
  s.add_metrics(record, metadata, backward);
}

ProcessLog TraceFold::finish(const TraceCounts& counts) {
  State& s = *state_;
  for (std::size_t i = 0; i < s.log.compiles.size(); ++i) {
    Compile& compile = s.log.compiles[i];
    State::Work& own = s.work[i];
    for (const bool backward : {false, true}) {
      Pass& pass = backward ? compile.backward : compile.forward;
      CumulativeTimes& times = backward ? own.backward : own.forward;
      times.kernels_us = std::max(times.kernels_us, own.compilers.covered_us(pass));
      pass.stages = stages_of(times, backward);
    }
  }
  if (s.sources) s.sources->finish(s.log);
  s.log.counts = counts;
  s.log.autotune = s.autotune.finish();
  s.keep_what_fits(s.log.uses);
  s.keep_what_fits(s.log.code_state);
  s.keep_what_fits(s.log.autotune);
  s.log.left_out += s.components.left_out() - s.components_left_out;
  s.log.left_out += s.autotune.left_out() + s.log.stacks.left_out();
  s.log.left_out += s.log.code.left_out();
  return std::move(s.log);
}

base::Result<ProcessLog> fold_file(const std::string& path, TraceReadOptions options,
                                   ComponentTable& components,
                                   const std::function<void(std::uint64_t)>& progress) {
  auto reader = TraceReader::open(path, options);
  if (!reader.ok()) return reader.status();
  TraceFold fold(path, components, options.sources, options.room);
  TraceRecord record;
  std::uint64_t told = 0;
  while (reader->next(record)) {
    fold.add(record);
    if (const std::uint64_t bytes = reader->counts().bytes - told;
        progress && bytes >= kProgressBytes) {
      progress(bytes);
      told += bytes;
    }
  }
  if (!reader->status().ok()) return reader->status();
  if (progress) progress(reader->counts().bytes - told);
  return fold.finish(reader->counts());
}

}  // namespace headway::compile
