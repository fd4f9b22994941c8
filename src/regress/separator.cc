#include "regress/separator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <tuple>
#include <utility>

#include "regress/tail.h"

namespace headway::regress {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

struct Seen {
  std::uint64_t before = 0, after = 0;
};

double entropy(double a, double b) {
  const double all = a + b;
  const auto part = [all](double x) { return x > 0 ? -x / all * std::log2(x / all) : 0; };
  return all > 0 ? part(a) + part(b) : 0;
}

// The information gain of the question, by that of the best question possible.
double score_of(const Table& table) {
  const auto bw = static_cast<double>(table.before_with);
  const auto bo = static_cast<double>(table.before_without);
  const auto aw = static_cast<double>(table.after_with);
  const auto ao = static_cast<double>(table.after_without);
  const double all = bw + bo + aw + ao;
  const double whole = entropy(bw + bo, aw + ao);
  if (whole <= 0) return 0;
  const double rest = (bw + aw) / all * entropy(bw, aw) + (bo + ao) / all * entropy(bo, ao);
  return std::clamp((whole - rest) / whole, 0.0, 1.0);
}

// The statistic of the G test, which Fisher's agrees with: a first look that costs nothing.
constexpr double kGMin = 8;  // p of about 0.005 for one value alone
double g_of(const Table& table, double score) {
  const auto before = static_cast<double>(table.before_with + table.before_without);
  const auto after = static_cast<double>(table.after_with + table.after_without);
  return 2 * std::numbers::ln2 * (before + after) * score * entropy(before, after);
}

class Counter {
 public:
  void count(const fleet::AttemptFacts& facts, bool after) {
    for (std::size_t i = 0; i < fleet::kDimensions; ++i) {
      add({fleet::dimension_name(static_cast<fleet::Dimension>(i)), facts.dimensions[i]}, after);
    }
    for (const std::string& lever : facts.levers) add({"lever", lever}, after);
    if (facts.hosts.size() > SeparatorOptions::hosts_max) return;
    for (const std::string& host : facts.hosts) add({"host", host}, after);
  }
  [[nodiscard]] const std::map<Key, Seen>& seen() const { return seen_; }

 private:
  void add(Key key, bool after) {
    auto found = seen_.find(key);
    if (found == seen_.end()) {
      if (seen_.size() == SeparatorOptions::values_max) return;
      found = seen_.emplace(key, Seen{}).first;
    }
    ++(after ? found->second.after : found->second.before);
  }
  std::map<Key, Seen> seen_;
};

}  // namespace

std::vector<Separator> separators(std::span<const fleet::AttemptFacts> facts,
                                  std::span<const std::size_t> before,
                                  std::span<const std::size_t> after,
                                  const SeparatorOptions& options) {
  std::vector<Separator> out;
  if (before.empty() || after.empty()) return out;
  Counter counter;
  for (const std::size_t i : before) counter.count(facts[i], false);
  for (const std::size_t i : after) counter.count(facts[i], true);
  const auto tried = static_cast<double>(counter.seen().size());
  for (const auto& [key, seen] : counter.seen()) {
    const Table table{seen.before, before.size() - seen.before, seen.after,
                      after.size() - seen.after};
    Separator each;
    each.before_pct = 100.0 * static_cast<double>(seen.before) / static_cast<double>(before.size());
    each.after_pct = 100.0 * static_cast<double>(seen.after) / static_cast<double>(after.size());
    each.score = score_of(table);
    if (each.before_pct == each.after_pct || g_of(table, each.score) < kGMin) continue;
    each.p = std::min(1.0, fisher(table) * tried);
    if (each.p > options.p_max) continue;
    each.field = key.first;
    each.value = key.second;
    out.push_back(std::move(each));
  }
  // What came is likelier to be the cause than what left.
  std::ranges::sort(out, [](const Separator& a, const Separator& b) {
    const bool a_came = a.after_pct > a.before_pct, b_came = b.after_pct > b.before_pct;
    if (std::abs(a.score - b.score) > 1e-9) return a.score > b.score;
    if (a_came != b_came) return a_came;
    return std::tie(a.field, a.value) < std::tie(b.field, b.value);
  });
  if (out.size() > options.separators_max) out.resize(options.separators_max);
  return out;
}

}  // namespace headway::regress
