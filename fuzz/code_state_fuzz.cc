// Any bytes as torch's printed profile, its guards and its reasons: what comes out is inside what
// went in, and a setting that is made of it matches what it is to match and nothing else.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "base/check.h"
#include "compile/code_state.h"
#include "compile/compile_log.h"
#include "compile/dynamic_sources.h"
#include "compile/guard_sources.h"
#include "compile/recompile_reason.h"

using namespace headway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  compile::ProcessLog log;
  compile::CodeStates states = compile::parse_code_state(bytes);
  for (const compile::StateSource& one : states.sources) {
    HW_CHECK(!one.source.empty() && bytes.find(one.source) != std::string_view::npos);
    HW_CHECK(one.source.size() <= compile::kSourceBytesMax);
    HW_CHECK(one.kind == compile::StateKind::tensor || one.dynamic_dims.empty());
  }
  compile::find_guard_sources(bytes, [&](std::string_view source, bool number) {
    HW_CHECK(bytes.find(source) != std::string_view::npos);
    if (source.size() <= compile::kSourceBytesMax && log.uses.size() < 1000) {
      log.uses.push_back({std::string(source), number, 0});
    }
  });
  if (const auto reason = compile::parse_recompile_reason(bytes)) {
    HW_CHECK(bytes.find(reason->text) != std::string_view::npos);
    HW_CHECK((reason->kind == compile::ReasonKind::size) == reason->actual.has_value());
  }
  HW_CHECK(compile::short_source(bytes).size() <= bytes.size());
  log.code_state = std::move(states.sources);
  const compile::DynamicFindings found = compile::find_dynamic_sources({log});
  std::set<compile::SourceDim> covered;
  for (const compile::SourceEntry& entry : found.entries) {
    // Torch cuts at commas and takes spaces away; a shell would cut or expand the rest.
    HW_CHECK(entry.text.find_first_of(", \t\n\"$`!") == std::string::npos);
    HW_CHECK(!entry.covers.empty());
    covered.insert(entry.covers.begin(), entry.covers.end());
  }
  HW_CHECK(found.entries_left_out > 0 || covered.size() == found.sources.size());
  return 0;
}
