#include "autotune/prune.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <tuple>

#include "base/check.h"

namespace headway::autotune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMargins[] = {1, 2, 4};  // times ε
constexpr std::size_t kMarginCount = std::size(kMargins);

// Of one configuration in one class; times are multiples of the tuning's best.
struct ConfigStat {
  std::uint64_t runs = 0, wins = 0;
  std::uint64_t near[kMarginCount] = {};  // runs in which it was within a margin of the best
  double worst = 0;
};

struct ClassState {
  std::uint64_t runs = 0, pruned_runs = 0, timed = 0, runs_with_cost = 0;
  std::int64_t tuning_ns = 0;
  std::map<std::uint32_t, ConfigStat> configs;
};

struct KernelState {
  std::map<std::string, std::uint32_t, std::less<>> configs;  // text → id
  std::vector<std::string> key_names;
  std::uint64_t runs = 0, unclassed_runs = 0, timed = 0, timed_unclassed = 0;
  bool cost_known = false;
  std::int64_t tuning_ns = 0;
  std::map<std::pair<std::string, std::string>, ClassState> classes;  // hardware, class
};

using KernelKey = std::tuple<Framework, std::string, std::string, std::string>;

double ratio_of(double time_ms, double best_ms) {
  if (!std::isfinite(time_ms)) return kInfinity;
  if (best_ms > 0) return time_ms / best_ms;
  return time_ms > 0 ? kInfinity : 1.0;
}

void add_to_class(ClassState& into, KernelState& kernel, const Observation& one, double epsilon) {
  double best_ms = kInfinity;
  for (const TimedConfig& config : one.configs) best_ms = std::min(best_ms, config.time_ms);
  if (one.pruned) {
    ++into.pruned_runs;
  } else {
    ++into.runs;
    into.timed += one.configs.size();
    into.tuning_ns += std::max<std::int64_t>(one.tuning_ns, 0);
  }
  for (const TimedConfig& config : one.configs) {
    const auto id = kernel.configs.find(config.text);
    if (id == kernel.configs.end()) continue;
    ConfigStat& stat = into.configs[id->second];
    const double ratio = ratio_of(config.time_ms, best_ms);
    ++stat.runs;
    if (ratio <= 1) ++stat.wins;
    for (std::size_t i = 0; i < kMarginCount; ++i) {
      if (ratio <= 1 + epsilon * kMargins[i]) ++stat.near[i];
    }
    stat.worst = std::max(stat.worst, ratio);
  }
}

// Is there none that was near the best in every tuning?
bool contradicts(const ClassState& state, double epsilon) {
  if (state.runs < 2) return false;
  return std::none_of(state.configs.begin(), state.configs.end(), [&](const auto& entry) {
    const ConfigStat& stat = entry.second;
    return stat.runs >= state.runs && stat.worst <= 1 + epsilon;
  });
}

// Which of kMargins counts as near: none where enough is known.
std::optional<std::size_t> margin_of(std::uint64_t runs, bool contradicting) {
  const std::size_t wider = contradicting ? 1 : 0;
  if (runs >= kRunsMany) return contradicting ? std::optional<std::size_t>(0) : std::nullopt;
  if (runs >= kRunsFew) return wider;
  const std::size_t seldom = runs == 2 ? 1 : 2;
  return std::min(seldom + wider, kMarginCount - 1);
}

bool stays(const ConfigStat& stat, std::optional<std::size_t> margin) {
  return stat.wins > 0 || (margin && stat.near[*margin] * 2 >= stat.runs);
}

ClassVerdict judge(const ClassState& state, const std::vector<std::string>& texts, double epsilon) {
  ClassVerdict out;
  out.runs = state.runs;
  out.pruned_runs = state.pruned_runs;
  out.tuning_ns = state.tuning_ns;
  out.contradicting = contradicts(state, epsilon);
  const auto margin = margin_of(state.runs, out.contradicting);
  for (std::uint32_t id = 0; id < texts.size(); ++id) {
    const auto stat = state.configs.find(id);
    const bool timed = stat != state.configs.end();
    const bool kept = !timed || stays(stat->second, margin);
    if (timed) ++out.measured;
    if (timed && kept) ++out.kept_measured;
    if (kept) out.keep.push_back(texts[id]);
  }
  if (out.kept_measured == 0 || state.runs == 0) {  // nothing ran, or only pinned ones were timed
    out.keep = texts;
    out.kept_measured = out.measured;
  }
  std::sort(out.keep.begin(), out.keep.end());
  out.pinned = out.kept_measured < out.measured;
  if (out.pinned) {
    const double share = static_cast<double>(out.kept_measured) / static_cast<double>(out.measured);
    out.saved_ns = std::llround(static_cast<double>(out.tuning_ns) * (1 - share));
  }
  return out;
}

KernelVerdict judge_kernel(const KernelKey& key, const KernelState& state, double epsilon) {
  KernelVerdict out;
  std::tie(out.framework, out.kernel, out.source, out.software) = key;
  out.key_names = state.key_names;
  out.runs = state.runs;
  out.unclassed_runs = state.unclassed_runs;
  out.timed = state.timed;
  out.would_time = state.timed_unclassed;
  out.cost_known = state.cost_known;
  out.tuning_ns = state.tuning_ns;
  std::vector<std::string> texts(state.configs.size());
  for (const auto& [text, id] : state.configs) texts[id] = text;
  for (const auto& [at, of] : state.classes) {
    ClassVerdict one = judge(of, texts, epsilon);
    std::tie(one.hardware, one.shape_class) = at;
    out.saved_ns += one.saved_ns;
    out.would_time += one.pinned ? one.runs * one.kept_measured : of.timed;
    out.classes.push_back(std::move(one));
  }
  out.would_time = std::min(out.would_time, out.timed);
  out.configs = std::move(texts);
  std::sort(out.configs.begin(), out.configs.end());
  return out;
}

}  // namespace

struct Pruner::State {
  double epsilon = 0;
  std::map<KernelKey, KernelState> kernels;
  std::size_t classes = 0;
  std::uint64_t left_out = 0;
};

Pruner::Pruner(const PruneOptions& options) : state_(std::make_unique<State>()) {
  HW_CHECK(options.epsilon >= 0);
  state_->epsilon = options.epsilon;
}
Pruner::~Pruner() = default;
Pruner::Pruner(Pruner&&) noexcept = default;
Pruner& Pruner::operator=(Pruner&&) noexcept = default;

void Pruner::add(const Observation& one) {
  HW_CHECK(one.configs.size() <= kConfigsMax);
  KernelKey key(one.framework, one.kernel, one.source, one.software);
  auto at = state_->kernels.find(key);
  if (at == state_->kernels.end()) {
    if (state_->kernels.size() >= kKernelsMax) {
      ++state_->left_out;
      return;
    }
    at = state_->kernels.emplace(std::move(key), KernelState()).first;
  }
  KernelState& kernel = at->second;
  const std::pair place(one.hardware, one.shape_class);
  const bool classed = !one.hardware.empty() && !one.shape_class.empty();
  if (classed && !kernel.classes.contains(place)) {
    if (state_->classes >= kClassesMax) {
      ++state_->left_out;
      return;
    }
    ++state_->classes;
  }
  // The same for every order of observations: the longest, then the first by letters.
  if (std::pair(one.key_names.size(), kernel.key_names) >
      std::pair(kernel.key_names.size(), one.key_names)) {
    kernel.key_names = one.key_names;
  }
  for (const TimedConfig& config : one.configs) {
    if (kernel.configs.size() >= kKernelConfigsMax) break;
    kernel.configs.try_emplace(config.text, static_cast<std::uint32_t>(kernel.configs.size()));
  }
  ++kernel.runs;
  if (one.tuning_ns >= 0) {
    kernel.cost_known = true;
    kernel.tuning_ns += one.tuning_ns;
  }
  if (!one.pruned) kernel.timed += one.configs.size();
  if (!classed) {
    ++kernel.unclassed_runs;
    if (!one.pruned) kernel.timed_unclassed += one.configs.size();
    return;
  }
  add_to_class(kernel.classes[place], kernel, one, state_->epsilon);
}

std::vector<KernelVerdict> Pruner::finish() const {
  std::vector<KernelVerdict> out;
  for (const auto& [key, state] : state_->kernels) {
    out.push_back(judge_kernel(key, state, state_->epsilon));
  }
  std::stable_sort(out.begin(), out.end(), [](const KernelVerdict& a, const KernelVerdict& b) {
    return std::pair(a.tuning_ns, a.timed) > std::pair(b.tuning_ns, b.timed);
  });
  return out;
}

std::uint64_t Pruner::left_out() const {
  return state_->left_out;
}

}  // namespace headway::autotune
