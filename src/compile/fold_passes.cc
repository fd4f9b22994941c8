#include "compile/fold_passes.h"

#include <algorithm>

namespace headway::compile {

void CompilerSpans::begin(std::string_view name, std::int64_t at_us) {
  if (open_count_ >= kOpenMax) return;
  open_[std::string(name)].push_back(at_us);
  ++open_count_;
}

void CompilerSpans::end(std::string_view name, std::int64_t at_us) {
  const auto found = open_.find(std::string(name));
  if (found == open_.end() || found->second.empty()) return;
  const std::int64_t begin_us = found->second.back();
  found->second.pop_back();
  --open_count_;
  if (at_us > begin_us && spans_.size() < kSpansMax) spans_.push_back({begin_us, at_us});
}

std::int64_t CompilerSpans::covered_us(const Pass& pass) const {
  std::vector<Span> spans = spans_;
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin_us < b.begin_us; });
  std::int64_t covered = 0;
  std::int64_t reached = pass.start_us;
  const std::int64_t end_us = pass.start_us + pass.duration_us;
  for (const Span& span : spans) {
    const std::int64_t from = std::max(span.begin_us, reached);
    const std::int64_t to = std::min(span.end_us, end_us);
    if (to <= from) continue;
    covered += to - from;
    reached = to;
  }
  return covered;
}

Stages stages_of(const CumulativeTimes& times, bool backward) {
  const std::int64_t total = std::max<std::int64_t>(times.total_us, 0);
  const auto within = [](std::int64_t part, std::int64_t whole) {
    return std::clamp<std::int64_t>(part, 0, whole);
  };
  // A backward pass has no tracing of its own.
  const std::int64_t aot = backward ? total : within(times.aot_us, total);
  const std::int64_t inductor = within(times.inductor_us, aot);
  const std::int64_t codegen = within(times.codegen_us, inductor);
  const std::int64_t kernels = within(times.kernels_us, codegen);
  return {total - aot, aot - inductor, inductor - codegen, codegen - kernels, kernels};
}

}  // namespace headway::compile
