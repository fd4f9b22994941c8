#include "compile/autotune_cost.h"

#include <algorithm>
#include <utility>

#include "base/cut_text.h"
#include "compile/dom.h"

namespace headway::compile {
namespace {

constexpr std::string_view kBenchmark = "CachingAutotuner.benchmark_all_configs";
constexpr std::string_view kDescent = "CachingAutotuner.coordinate_descent_tuning";
constexpr std::string_view kTemplate = "_template_autotuning";
constexpr std::string_view kPrecompile = "_template_precompiling";
constexpr std::size_t kKernelBytesMax = 300;
constexpr std::size_t kBestBytesMax = 300;

std::string cut(std::string_view text, std::size_t bytes_max) {
  return std::string(base::cut_text(text, bytes_max));
}

std::string_view without(std::string_view name, std::string_view suffix) {
  return name.substr(0, name.size() - suffix.size());
}

void sort_by_cost(std::vector<AutotuneCost>& costs) {
  std::stable_sort(costs.begin(), costs.end(), [](const AutotuneCost& a, const AutotuneCost& b) {
    return std::pair(-a.total_us(), std::string_view(a.kernel)) <
           std::pair(-b.total_us(), std::string_view(b.kernel));
  });
}

// What the end of a template's tuning says of its candidates.
void read_stats(std::string_view json, AutotuneCost& cost) {
  dom::parser parser;
  dom::element told;
  if (json.empty() || parser.parse(json.data(), json.size()).get(told)) return;
  cost.configs = std::max(cost.configs, dom::number(told, "num_choices"));
  cost.best = dom::text(told, "best_kernel", kBestBytesMax);
}

}  // namespace

bool AutotuneFold::is_tuning(std::string_view event) {
  return event == kBenchmark || event == kDescent || event.ends_with(kTemplate) ||
         event.ends_with(kPrecompile);
}

AutotuneCost* AutotuneFold::cost_of(std::string_view kernel, bool is_template,
                                    const CompileId& id) {
  std::string key = cut(kernel, kKernelBytesMax);
  const auto found = by_kernel_.find(key);
  if (found != by_kernel_.end()) return &costs_[found->second];
  if (costs_.size() >= kKernelsMax) {
    ++left_out_;
    return nullptr;
  }
  by_kernel_.emplace(key, costs_.size());
  AutotuneCost& cost = costs_.emplace_back();
  cost.kernel = std::move(key);
  cost.is_template = is_template;
  cost.first = id;
  return &cost;
}

void AutotuneFold::add(const TuneEvent& event) {
  const bool of_template = event.name.ends_with(kTemplate);
  const bool precompile = event.name.ends_with(kPrecompile);
  if (event.phase == 'B') {
    if (open_.size() >= kOpenMax) open_.erase(open_.begin());  // its end never came
    std::string kernel(event.kernel.empty() ? "kernels without a name" : event.kernel);
    if (of_template) {
      kernel = without(event.name, kTemplate);
      if (!event.shapes.empty()) kernel.append(" ").append(event.shapes);
    }
    open_.push_back({std::string(event.name), std::move(kernel), event.at_us});
    return;
  }
  const auto open = std::find_if(open_.rbegin(), open_.rend(),
                                 [&](const Open& one) { return one.name == event.name; });
  if (event.phase != 'E' || open == open_.rend()) return;
  const Open begun = *open;
  open_.erase(std::next(open).base());
  const std::int64_t lasted_us = std::max<std::int64_t>(event.at_us - begun.at_us, 0);
  if (precompile) {  // before the tuning of the same template, which tells its shapes
    precompiled_ = without(event.name, kPrecompile);
    precompile_us_ = lasted_us;
    return;
  }
  AutotuneCost* const cost = cost_of(begun.kernel, of_template, event.id);
  if (cost == nullptr) return;
  if (event.name == kDescent) {
    cost->descent_us += lasted_us;
    return;
  }
  ++cost->runs;
  cost->benchmark_us += lasted_us;
  if (!of_template) return;
  if (precompiled_ == without(event.name, kTemplate)) cost->compile_us += precompile_us_;
  precompile_us_ = 0;
  precompiled_.clear();
  read_stats(event.stats, *cost);
}

void AutotuneFold::add_kernel_info(std::string_view json, const CompileId& id) {
  dom::parser parser;
  dom::element told;
  dom::object kernels;
  if (!dom::parse(parser, json, told) || told.get_object().get(kernels)) return;
  for (const auto [name, info] : kernels) {
    AutotuneCost* const cost = cost_of(name, false, id);
    if (cost == nullptr) return;
    cost->configs = std::max(cost->configs, dom::number(info, "num_configs"));
    cost->compile_us += std::max<std::int64_t>(dom::number(info, "compile_time_us"), 0);
    cost->cache = dom::text(info, "autotune_cache_state", kBestBytesMax);
  }
}

std::vector<AutotuneCost> AutotuneFold::finish() {
  std::erase_if(costs_,
                [](const AutotuneCost& cost) { return cost.total_us() == 0 && cost.configs < 2; });
  sort_by_cost(costs_);
  by_kernel_.clear();
  return std::exchange(costs_, {});
}

std::vector<AutotuneCost> merge_costs(const std::vector<const std::vector<AutotuneCost>*>& logs) {
  std::vector<AutotuneCost> out;
  std::unordered_map<std::string, std::size_t> by_kernel;
  for (const auto* log : logs) {
    for (const AutotuneCost& cost : *log) {
      const auto [at, added] = by_kernel.try_emplace(cost.kernel, out.size());
      if (added) {
        out.push_back(cost);
        continue;
      }
      AutotuneCost& sum = out[at->second];
      sum.runs += cost.runs;
      sum.configs = std::max(sum.configs, cost.configs);
      sum.compile_us += cost.compile_us;
      sum.benchmark_us += cost.benchmark_us;
      sum.descent_us += cost.descent_us;
      if (sum.best.empty()) sum.best = cost.best;
      if (sum.cache.empty()) sum.cache = cost.cache;
    }
  }
  sort_by_cost(out);
  return out;
}

}  // namespace headway::compile
