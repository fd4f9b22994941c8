#include "compile/fold_sources.h"

#include "compile/code_state.h"
#include "compile/guard_sources.h"

namespace headway::compile {

void FoldSources::take_guards(std::string_view payload, std::int32_t frame) {
  find_guard_sources(payload, [&](std::string_view source, bool number) {
    if (uses_.size() >= kUsesMax || source.size() > kSourceBytesMax) {
      ++left_out_;
      return;
    }
    uses_.emplace(source, number, frame);
  });
}

void FoldSources::take_state(std::string_view text) {
  CodeStates states = parse_code_state(text);
  left_out_ += states.left_out;
  if (!states.sources.empty()) state_ = std::move(states.sources);
}

void FoldSources::finish(ProcessLog& log) {
  for (const auto& [source, number, frame] : uses_) log.uses.push_back({source, number, frame});
  log.code_state = std::move(state_);
  log.left_out += left_out_;
}

}  // namespace headway::compile
