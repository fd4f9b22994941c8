#include "compile/cache_ask.h"

#include <cctype>

namespace headway::compile {

std::string_view name_of(CacheKind kind) {
  if (kind == CacheKind::precompile) return "precompile";
  return kind == CacheKind::fx_graph ? "fx_graph" : "aot_autograd";
}

std::string_view name_of(CacheOutcome outcome) {
  if (outcome == CacheOutcome::hit) return "hit";
  return outcome == CacheOutcome::miss ? "miss" : "bypass";
}

std::optional<AskName> ask_name(std::string_view artifact) {
  AskName out{};
  if (artifact.starts_with("fx_graph_cache_")) {
    out.kind = CacheKind::fx_graph;
    artifact.remove_prefix(std::string_view("fx_graph_cache_").size());
  } else if (artifact.starts_with("aotautograd_cache_")) {
    out.kind = CacheKind::aot_autograd;
    artifact.remove_prefix(std::string_view("aotautograd_cache_").size());
  } else if (artifact == "precompile_cache_bypass") {
    return AskName{CacheKind::precompile, CacheOutcome::bypass};
  } else {
    return std::nullopt;
  }
  if (artifact == "hit") {
    out.outcome = CacheOutcome::hit;
  } else if (artifact == "miss") {
    out.outcome = CacheOutcome::miss;
  } else if (artifact == "bypass" || artifact == "pickle_failure") {
    out.outcome = CacheOutcome::bypass;
  } else {
    return std::nullopt;
  }
  return out;
}

std::string bypass_reason(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (!text.substr(i).starts_with("0x")) {
      out += text[i++];
      continue;
    }
    out += "0x…";
    for (i += 2; i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i])) != 0;) ++i;
  }
  return out;
}

bool Compile::all_found() const {
  bool asked = false;
  for (const CacheAsk& ask : asks) {
    if (ask.outcome != CacheOutcome::hit) return false;
    asked = true;
  }
  return asked;
}

bool Compile::is_warm() const {
  // Every start has its compiler look at a header, to find it by what it says. That is one run.
  constexpr std::int64_t kRunsWithoutKernels = 1;
  bool found = false;
  for (const CacheAsk& ask : asks) {
    found = found || ask.outcome == CacheOutcome::hit;
    // What AOTAutograd's cache would have spared is little: under DDP it always stands aside.
    if (ask.kind == CacheKind::fx_graph && ask.outcome != CacheOutcome::hit) return false;
  }
  return found && compiler_runs <= kRunsWithoutKernels;
}

}  // namespace headway::compile
