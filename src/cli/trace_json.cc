#include "cli/trace_views.h"

namespace headway::cli {
namespace {

using namespace compile;

Json stages_json(const Pass& pass) {
  const Stages& s = pass.stages;
  return {{"start_us", pass.start_us},    {"duration_us", pass.duration_us},
          {"dynamo_us", s.dynamo_us},     {"aot_us", s.aot_us},
          {"inductor_us", s.inductor_us}, {"codegen_us", s.codegen_us},
          {"kernels_us", s.kernels_us},   {"autotune_us", pass.autotune_us}};
}

Json ask_json(const CacheAsk& ask) {
  Json out = {{"cache", name_of(ask.kind)}, {"outcome", name_of(ask.outcome)}, {"key", ask.key}};
  if (!ask.reason.empty()) out["reason"] = ask.reason;
  if (ask.saved_us > 0) out["saved_us"] = ask.saved_us;
  return out;
}

Json stack_json(const ProcessLog& log, std::uint32_t stack) {
  Json out = Json::array();
  for (const StackNode& call : log.code.path_to(stack)) {
    out.push_back({{"file", log.code.name(call.file)},
                   {"line", call.line},
                   {"function", log.code.name(call.function)}});
  }
  return out;
}

void add_sizes(Json& out, const ProcessLog& log, const Compile& c) {
  Json& symbols = out["symbols"] = Json::array();
  for (const SizeSymbol& one : c.symbols) {
    const bool of_data = one.source.empty();
    symbols.push_back({{"symbol", one.symbol},
                       {"source", of_data ? Json() : Json(one.source)},
                       {"value", of_data ? Json() : Json(one.value)},
                       {"range", one.range}});
  }
  Json& specialised = out["specialised"] = Json::array();
  for (const Specialised& one : c.specialised) {
    specialised.push_back({{"symbol", one.symbol},
                           {"sources", one.sources},
                           {"value", one.value},
                           {"reason", one.reason},
                           {"stack", stack_json(log, one.stack)}});
  }
  Json& guards = out["size_guards"] = Json::array();
  for (const SizeGuard& one : c.size_guards) {
    guards.push_back({{"guard", one.expression}, {"stack", stack_json(log, one.stack)}});
  }
}

Json compile_json(const ProcessLog& log, const Compile& c) {
  Json out = {{"id", c.id.text()},
              {"name", c.name},
              {"file", c.file},
              {"line", c.line},
              {"finished", c.finished},
              {"recompile", c.is_recompile()},
              {"warm", c.is_warm()},
              {"guards", c.guards},
              {"ops", c.ops},
              {"inputs", c.inputs},
              {"forward", c.forward.there ? stages_json(c.forward) : Json()},
              {"backward", c.backward.there ? stages_json(c.backward) : Json()},
              {"recompile_reasons", c.recompile_reasons},
              {"restart_reasons", c.restart_reasons}};
  Json& breaks = out["graph_breaks"] = Json::array();
  for (const GraphBreak& one : c.breaks) {
    breaks.push_back(
        {{"reason", one.reason}, {"where", one.where}, {"stack", stack_json(log, one.stack)}});
  }
  Json& asks = out["caches"] = Json::array();
  for (const CacheAsk& ask : c.asks) asks.push_back(ask_json(ask));
  Json& changes = out["dynamic"] = Json::array();
  for (const DynamicChange& one : c.changes) {
    changes.push_back({{"source", one.source},
                       {"dim", one.dim < 0 ? Json() : Json(one.dim)},
                       {"was", one.was},
                       {"is", one.is},
                       {"reason", one.reason}});
  }
  add_sizes(out, log, c);
  if (!c.failure.type.empty()) {
    out["failure"] = {
        {"type", c.failure.type}, {"reason", c.failure.reason}, {"where", c.failure.where}};
  }
  return out;
}

Json counts_json(const TraceCounts& c) {
  return {{"bytes", c.bytes},
          {"records", c.records},
          {"foreign_lines", c.foreign_lines},
          {"stray_lines", c.stray_lines},
          {"bad_records", c.bad_records},
          {"torn_records", c.torn_records},
          {"missing_payloads", c.missing_payloads},
          {"cut_payloads", c.cut_payloads},
          {"wrong_payloads", c.wrong_payloads},
          {"verified_payloads", c.verified_payloads},
          {"first_bad_line", c.first_bad_line}};
}

Json miss_json(const TraceView& view, const MissCause& cause) {
  const auto ref = [](const std::vector<ProcessLog>& logs, const AskRef& at) {
    return Json{{"log", at.log},
                {"rank", logs[at.log].rank},
                {"id", logs[at.log].compiles[at.compile].id.text()},
                {"key", logs[at.log].compiles[at.compile].asks[at.ask].key}};
  };
  Json out = ref(view.job->logs, cause.miss);
  out["nearest"] = Json();
  if (cause.has_nearest) {
    out["nearest"] = ref(cause.in_other ? view.job->other : view.job->logs, cause.nearest);
    out["nearest"]["in_other_trace"] = cause.in_other;
    out["nearest"]["being_made"] = cause.being_made;
  }
  Json& changes = out["differs"] = Json::array();
  for (const ComponentChange& one : cause.changes) {
    changes.push_back({{"component", one.name}, {"was", one.was}, {"is", one.is}});
  }
  return out;
}

Json cost_json(const AutotuneCost& cost) {
  return {{"kernel", cost.kernel},
          {"template", cost.is_template},
          {"first", cost.first.text()},
          {"times", cost.runs},
          {"candidates", cost.configs == 0 ? Json() : Json(cost.configs)},
          {"compile_us", cost.compile_us},
          {"benchmark_us", cost.benchmark_us},
          {"descent_us", cost.descent_us},
          {"best", cost.best},
          {"cache", cost.cache}};
}

}  // namespace

void write_trace_json(const TraceView& view, JsonStream& out) {
  out.open('[', "logs");
  for (const ProcessLog& log : view.job->logs) {
    out.open('{').add(log.path, "path").add(log.rank < 0 ? Json() : Json(log.rank), "rank");
    out.add(log.process, "process").add(log.torch_version, "torch");
    out.add(log.python_version, "python").add(counts_json(log.counts), "read");
    out.add(log.left_out, "left_out").add(log.no_room, "no_room").add(log.ignored, "ignored");
    out.open('[', "compiles");
    for (const Compile& compile : log.compiles) out.add(compile_json(log, compile));
    out.close().close();
  }
  out.close().open('[', "misses");
  for (const MissCause& cause : view.misses) out.add(miss_json(view, cause));
  out.close().open('[', "autotune");
  for (const AutotuneCost& cost : view.autotune) out.add(cost_json(cost));
  out.close().open('[', "divergences");
  for (const Divergence& one : view.divergences) {
    out.add({{"id", one.id.text()}, {"what", one.what}, {"how", one.how}, {"ranks", one.ranks}});
  }
  out.close();
}

}  // namespace headway::cli
