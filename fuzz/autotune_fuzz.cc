// Any bytes as Triton's tuning, as a kernel's metadata, as a line of feedback and as inductor's
// best configuration: what is taken is within its maxima, goes through the pruner, keeps a winner,
// and makes pins that no text can break out of.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "autotune/best_config.h"
#include "autotune/feedback_line.h"
#include "autotune/pins.h"
#include "autotune/triton_file.h"
#include "base/check.h"

namespace {

using namespace headway;

void use(autotune::Observation one) {
  HW_CHECK(!one.configs.empty() && one.configs.size() <= autotune::kConfigsMax);
  for (const autotune::TimedConfig& config : one.configs) {
    HW_CHECK(!std::isnan(config.time_ms) && config.time_ms >= 0);
    HW_CHECK(config.text.size() <= autotune::kConfigBytesMax);
  }
  if (one.hardware.empty()) one.hardware = "fuzz";
  one.pruned = false;
  autotune::Pruner pruner;
  pruner.add(one);
  const auto kernels = pruner.finish();
  HW_CHECK(kernels.size() == 1);
  for (const autotune::ClassVerdict& verdict : kernels[0].classes) {
    HW_CHECK(verdict.kept_measured > 0 && verdict.kept_measured <= verdict.measured);
    HW_CHECK(verdict.saved_ns <= verdict.tuning_ns);
  }
  const std::string_view begin = "\nKERNELS = [\n", end = "]\n\n# --- ";
  const std::string text = autotune::pins_module(kernels, 0.05);
  const std::size_t from = text.find(begin);
  HW_CHECK(from != std::string::npos && text.find(end, from) != std::string::npos);
  // Between the two only the lines that we write: no literal has ended early or gone on.
  std::string_view data(text.data() + from + begin.size(), text.find(end, from) - from);
  HW_CHECK(std::none_of(data.begin(), data.end(), [](char c) { return c == '\0' || c == '\r'; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto tuning = autotune::parse_triton_tuning("fuzz.autotune.json", bytes);
  if (tuning.ok()) use(std::move(tuning->observation));
  (void)autotune::target_of(bytes);
  auto feedback = autotune::parse_feedback(bytes);
  if (feedback.ok()) use(std::move(feedback->observation));
  const auto best = autotune::parse_best_config(bytes);
  if (best.ok()) HW_CHECK(best.value().tuning_ns >= 0);
  return 0;
}
