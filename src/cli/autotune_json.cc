#include "cli/autotune_views.h"

namespace headway::cli {
namespace {

using namespace autotune;

Json class_json(const ClassVerdict& one) {
  return {{"hardware", one.hardware},
          {"shape", one.shape_class},
          {"runs", one.runs},
          {"pruned_runs", one.pruned_runs},
          {"contradicting", one.contradicting},
          {"pinned", one.pinned},
          {"measured", one.measured},
          {"kept", one.kept_measured},
          {"keep", one.keep},
          {"tuning_ns", one.tuning_ns},
          {"saved_ns", one.saved_ns}};
}

Json kernel_json(const KernelVerdict& kernel) {
  Json classes = Json::array();
  for (const ClassVerdict& one : kernel.classes) classes.push_back(class_json(one));
  return {{"framework", kernel.framework == Framework::triton ? "triton" : "inductor"},
          {"kernel", kernel.kernel},
          {"source", kernel.source},
          {"software", kernel.software},
          {"key_names", kernel.key_names},
          {"runs", kernel.runs},
          {"unclassed_runs", kernel.unclassed_runs},
          {"timed", kernel.timed},
          {"would_time", kernel.would_time},
          {"tuning_ns", kernel.cost_known ? Json(kernel.tuning_ns) : Json()},
          {"saved_ns", kernel.cost_known ? Json(kernel.saved_ns) : Json()},
          {"configs", kernel.configs},
          {"classes", std::move(classes)}};
}

Json counts_json(const CollectCounts& c) {
  return {{"triton_files", c.triton_files},
          {"feedback_files", c.feedback_files},
          {"best_config_files", c.best_config_files},
          {"trace_files", c.trace_files},
          {"tunings", c.tunings},
          {"repeated", c.repeated},
          {"unknown_hardware", c.unknown_hardware},
          {"bad", c.bad},
          {"left_out", c.left_out},
          {"problems", c.problems}};
}

}  // namespace

Json autotune_json(const AutotuneView& view) {
  Json kernels = Json::array();
  for (const KernelVerdict& kernel : view.kernels) kernels.push_back(kernel_json(kernel));
  Json traces = Json::array();
  for (const compile::AutotuneCost& cost : view.collected->traces) {
    traces.push_back(
        {{"kernel", cost.kernel}, {"runs", cost.runs}, {"tuning_ns", cost.total_us() * 1000}});
  }
  return {{"epsilon", view.epsilon},
          {"kernels", std::move(kernels)},
          {"traces", std::move(traces)},
          {"best_config_ns", view.collected->counts.best_config_ns},
          {"pins",
           {{"kernels", view.pins.kernels},
            {"classes", view.pins.classes},
            {"file", view.pins_file.empty() ? Json() : Json(view.pins_file)}}},
          {"read", counts_json(view.collected->counts)}};
}

}  // namespace headway::cli
