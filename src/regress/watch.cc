#include "regress/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "regress/discovery.h"
#include "regress/explain.h"
#include "regress/filter.h"
#include "regress/merge.h"

namespace headway::regress {
namespace {

using fleet::AttemptFacts;

struct Candidate {
  std::size_t series = 0;
  Change change;
  double q = 1;
  double cost_s = 0;  // device-seconds a day
  const Known* known = nullptr;
  bool judged = false;
  Verdict verdict = Verdict::open;
  std::string explained_by;
  Compared compared;
  std::vector<Separator> separates;
};

std::string date_of(std::int32_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

double shown(const Component& component, double level) {
  if (component.kind == Kind::loop) return 100 * std::exp(level);
  if (component.kind == Kind::failures) return 1000 * level;
  return law_of(component.kind) == Law::binomial ? 100 * level : std::exp(level);
}

class Watcher {
 public:
  Watcher(std::span<const AttemptFacts> facts, const WatchOptions& options, std::int64_t now_ns)
      : facts_(facts),
        options_(options),
        now_ns_(now_ns),
        set_(build_series(facts, options.series, now_ns)) {}

  Findings run() {
    look_at_series();
    find_known();
    find_new();
    tell();
    out_.series_left_out = set_.series_left_out;
    out_.strata_left_out = set_.strata_left_out;
    return std::move(out_);
  }

 private:
  void look_at_series() {
    std::vector<Scatter> scatter;
    std::map<Component, std::vector<double>> ratios;
    for (const Series& series : set_.series) {
      scatter.push_back(scatter_of(series));
      if (scatter.back().pairs >= 10) ratios[series.component].push_back(scatter.back().ratio);
    }
    std::map<Component, double> pooled;
    for (auto& [component, all] : ratios) {
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
      std::nth_element(all.begin(), middle, all.end());
      pooled[component] = *middle;
    }
    for (std::size_t i = 0; i < set_.series.size(); ++i) {
      const Series& series = set_.series[i];
      const auto found = pooled.find(series.component);
      const double ratio = found == pooled.end() ? scatter[i].ratio : found->second;
      watched_.push_back({&series, Evidence(series, noise_of(series, scatter[i], ratio))});
      if (i == 0 || series.stratum != set_.series[i - 1].stratum) begin_[series.stratum] = i;
      place_.emplace(member_of(i), i);
    }
  }

  [[nodiscard]] std::string member_of(std::size_t series) const {
    return component_name(set_.series[series].component) + "|" +
           set_.stratum_key(set_.series[series].stratum);
  }

  // All series of the stratum that series `i` is in, and its place among them.
  [[nodiscard]] std::pair<std::span<const Watched>, std::size_t> neighbours(std::size_t i) const {
    const std::size_t first = begin_.at(set_.series[i].stratum);
    std::size_t last = i;
    while (last < watched_.size() && set_.series[last].stratum == set_.series[i].stratum) ++last;
    return {std::span(watched_).subspan(first, last - first), i - first};
  }

  // From the first of these days to the last. It was told from few days of data: its beginning is
  // looked for anew with more.
  [[nodiscard]] std::pair<std::int32_t, std::int32_t> may_have_begun(const Known& known) const {
    const std::int32_t day = known.began_day, near = options_.near_days, far = options_.doubt_days;
    return {std::min(day - near, std::max(known.low_day, day - far)),
            std::max(day + near, std::min(known.high_day, day + far))};
  }

  // Once told, a regression stays one until its level is back or it cannot be seen any more.
  void find_known() {
    for (const Known& known : options_.known) {
      bool seen = false;
      for (const std::string& member : known.members) {
        const auto found = place_.find(member);
        if (found == place_.end()) continue;
        const Evidence& evidence = watched_[found->second].evidence;
        const auto [from, to] = may_have_begun(known);
        const auto change = change_between(evidence, from, to, options_.change);
        if (!change) continue;
        seen = true;
        Candidate each;
        each.series = found->second;
        each.change = *change;
        each.q = known.q_value;
        each.known = &known;
        constexpr double z_min = 2;
        if (change->z < z_min) each.verdict = Verdict::gone;
        candidates_.push_back(std::move(each));
      }
      if (!seen) out_.vanished.push_back(known.key);
    }
    for (Candidate& each : candidates_) judge(each);
  }

  [[nodiscard]] bool is_known(std::size_t series, const Change& change) const {
    return std::ranges::any_of(candidates_, [&](const Candidate& each) {
      if (each.known == nullptr || each.series != series) return false;
      const auto [from, to] = may_have_begun(*each.known);
      return (from <= change.began_day && change.began_day <= to) ||
             std::abs(each.change.began_day - change.began_day) <= options_.near_days;
    });
  }

  // Rises in the newest weeks that nobody has been told of, however weak.
  std::vector<Candidate> fresh_rises() {
    std::vector<Candidate> out;
    for (std::size_t i = 0; i < watched_.size(); ++i) {
      const Evidence& evidence = watched_[i].evidence;
      if (!set_.series[i].watched || evidence.size() <= options_.change.before_days_min) continue;
      ++out_.series;
      for (const Change& change : find_changes(evidence, options_.change)) {
        const bool news = set_.last_day - change.began_day < options_.change.fresh_days;
        if (change.z <= 0 || !news || is_known(i, change)) continue;
        Candidate each;
        each.series = i;
        each.change = change;
        out.push_back(std::move(each));
      }
    }
    return out;
  }

  // What is announced together shares the allowance for false announcements. So only announcements
  // may count: not what has another explanation, and one cause but once. Each round takes such out
  // and asks again; what was sure only because of them is not, then.
  void find_new() {
    std::vector<Candidate> asked = fresh_rises();
    std::ranges::stable_sort(asked, {}, [](const Candidate& each) { return each.change.p; });
    if (asked.size() > options_.judged_max) asked.resize(options_.judged_max);
    std::vector<Candidate> explained, same;
    for (bool again = true; again;) {
      again = false;
      std::vector<double> p;
      for (const Candidate& each : asked) p.push_back(each.change.p);
      const std::vector<double> q = q_values(p, std::max(out_.series, p.size()));
      std::vector<Candidate> next;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        Candidate& each = asked[i];
        each.q = q[i];
        if (each.q <= options_.q_max && !each.judged) judge(each);
        auto* list = &next;
        if (each.q <= options_.q_max && each.verdict != Verdict::open) list = &explained;
        if (each.q <= options_.q_max && each.verdict == Verdict::open && told_by(next, each)) {
          list = &same;
        }
        again |= list != &next;
        list->push_back(std::move(each));
      }
      asked = std::move(next);
    }
    std::erase_if(asked, [&](const Candidate& each) { return each.q > options_.q_max; });
    std::erase_if(same, [&](const Candidate& each) { return !told_by(asked, each); });
    for (auto* list : {&asked, &same, &explained}) {
      for (Candidate& each : *list) {
        if (worth_telling(each)) candidates_.push_back(std::move(each));
      }
    }
  }

  [[nodiscard]] bool worth_telling(const Candidate& each) const {
    const Law law = law_of(set_.series[each.series].component.kind);
    return 100 * (each.change.ratio(law) - 1) >= options_.change_min_pct;
  }

  // Is it the same as something that is announced, now or before?
  [[nodiscard]] bool told_by(std::span<const Candidate> others, const Candidate& each) const {
    const auto same = [&](const Candidate& other) {
      return other.verdict == Verdict::open && other.q <= options_.q_max &&
             may_be_one(mergeable(other), mergeable(each), options_.near_days);
    };
    return std::ranges::any_of(others, same) ||
           std::ranges::any_of(candidates_, [&](const Candidate& other) {
             return other.known != nullptr && same(other);
           });
  }

  [[nodiscard]] Mergeable mergeable(const Candidate& each) const {
    const Series& series = set_.series[each.series];
    return {series.component,
            series.stratum,
            each.change.began_day,
            each.change.low_day,
            each.change.high_day,
            cause_of(each.separates),
            each.known ? each.known->key : ""};
  }

  void judge(Candidate& each) {
    each.judged = true;
    const Series& series = set_.series[each.series];
    const Evidence& evidence = watched_[each.series].evidence;
    each.cost_s = cost_per_day(series, each.change);
    each.compared = compare(facts_, set_.strata[series.stratum].attempts, series.component,
                            each.change, set_.last_day, options_.compared_days);
    each.separates = separators_of(facts_, each.compared, options_.separators);
    if (each.verdict != Verdict::open) return;
    const auto [stratum, own] = neighbours(each.series);
    if (went_away(evidence, each.change)) {
      each.verdict = Verdict::gone;
    } else if (with_preemptions(stratum, own, each.change)) {
      each.verdict = Verdict::preemption;
    } else if (moved(stratum, own, each.change).only_moved()) {
      each.verdict = Verdict::shift;
    } else if (const auto dimension =
                   explained_by_mix(facts_, each.compared.before, each.compared.after, set_.by)) {
      each.verdict = Verdict::mix;
      each.explained_by = fleet::dimension_name(*dimension);
    }
  }

  // Groups of one verdict: what is open in one place and gone in another is still open there.
  void tell() {
    std::ranges::stable_sort(
        candidates_, [](const Candidate& a, const Candidate& b) { return a.cost_s > b.cost_s; });
    std::vector<Mergeable> items;
    for (const Candidate& each : candidates_) items.push_back(mergeable(each));
    for (const std::vector<std::size_t>& group : merge(items, options_.near_days)) {
      Regression regression = regression_of(group);
      const bool known = std::ranges::any_of(
          group, [&](std::size_t i) { return candidates_[i].known != nullptr; });
      const bool alert = known || regression.verdict == Verdict::open;
      (alert ? out_.regressions : out_.explained).push_back(std::move(regression));
    }
    for (auto* list : {&out_.regressions, &out_.explained}) {
      std::ranges::stable_sort(*list, [](const Regression& a, const Regression& b) {
        return a.device_hours_per_day > b.device_hours_per_day;
      });
      leave_out(*list);
    }
  }

  // The cheapest of what is new: whoever keeps a known one waits for news of it.
  void leave_out(std::vector<Regression>& list) {
    for (std::size_t i = list.size(); i > 0 && list.size() > options_.regressions_max; --i) {
      if (list[i - 1].found_ns != now_ns_) continue;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i - 1));
      ++out_.regressions_left_out;
    }
  }

  // The dearest that is open speaks for the group; where none is, the dearest of all.
  [[nodiscard]] Regression regression_of(const std::vector<std::size_t>& group) const {
    std::vector<std::size_t> members;
    for (const std::size_t i : group) {
      if (candidates_[i].verdict == Verdict::open) members.push_back(i);
    }
    if (members.empty()) members = group;
    const Candidate& lead = candidates_[members.front()];
    const Series& series = set_.series[lead.series];
    Regression out;
    out.component = series.component;
    out.verdict = lead.verdict;
    out.explained_by = lead.explained_by;
    out.began_day = lead.change.began_day;
    const FirstBad first = began(lead.compared, series.component, lead.change, series.spread);
    out.began_ns = first.t_ns;
    out.began_low_ns = first.low_ns;
    out.began_high_ns = first.high_ns;
    out.before = shown(series.component, lead.change.before);
    out.after = shown(series.component, lead.change.after);
    out.change_pct = 100 * (lead.change.ratio(law_of(series.component.kind)) - 1);
    out.q_value = lead.q;
    out.found_ns = now_ns_;
    for (const std::size_t i : members) {
      out.device_hours_per_day += candidates_[i].cost_s / 3600;
      out.members.push_back(member_of(candidates_[i].series));
    }
    out.key = out.members.front() + "|" + date_of(out.began_day);
    for (const std::size_t i : group) keep_known(candidates_[i].known, out);
    out.attempts = worst_attempts(lead.compared, law_of(series.component.kind), lead.change.before,
                                  options_.attempts_max);
    out.separates = lead.separates;
    out.stratum = shared_stratum(members);
    out.dip = dip_of(out.stratum, lead.compared);
    return out;
  }

  static void keep_known(const Known* known, Regression& out) {
    if (known == nullptr) return;
    out.key = known->key;
    out.found_ns = known->found_ns;
    out.q_value = known->q_value;
  }

  [[nodiscard]] std::vector<std::pair<fleet::Dimension, std::string>> shared_stratum(
      const std::vector<std::size_t>& members) const {
    std::vector<std::pair<fleet::Dimension, std::string>> out;
    for (std::size_t d = 0; d < set_.by.size(); ++d) {
      const auto value_of = [&](std::size_t i) -> const std::string& {
        return set_.strata[set_.series[candidates_[i].series].stratum].values[d];
      };
      const std::string& value = value_of(members.front());
      if (std::ranges::all_of(members, [&](std::size_t i) { return value_of(i) == value; })) {
        out.emplace_back(set_.by[d], value);
      }
    }
    return out;
  }

  [[nodiscard]] Dip dip_of(const std::vector<std::pair<fleet::Dimension, std::string>>& shared,
                           const Compared& days) const {
    std::vector<std::size_t> attempts;
    for (const Stratum& stratum : set_.strata) {
      const bool inside = std::ranges::all_of(shared, [&](const auto& each) {
        const auto d = std::ranges::find(set_.by, each.first) - set_.by.begin();
        return stratum.values[static_cast<std::size_t>(d)] == each.second;
      });
      if (inside) attempts.insert(attempts.end(), stratum.attempts.begin(), stratum.attempts.end());
    }
    const auto dip =
        decompose_dip(facts_, {attempts, days.before_first_day, days.before_last_day},
                      {attempts, days.after_first_day, days.after_last_day}, options_.dip);
    return dip.value_or(Dip{});
  }

  std::span<const AttemptFacts> facts_;
  const WatchOptions& options_;
  std::int64_t now_ns_;
  SeriesSet set_;
  std::vector<Watched> watched_;              // one for each series of set_
  std::map<std::size_t, std::size_t> begin_;  // of each stratum: its first series
  std::map<std::string, std::size_t> place_;  // of each member's name: its series
  std::vector<Candidate> candidates_;
  Findings out_;
};

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::open:
      return "open";
    case Verdict::gone:
      return "gone";
    case Verdict::shift:
      return "shift";
    case Verdict::mix:
      return "mix";
    case Verdict::preemption:
      break;
  }
  return "preemption";
}

Findings watch(std::span<const AttemptFacts> facts, const WatchOptions& options,
               std::int64_t now_ns) {
  return Watcher(facts, options, now_ns).run();
}

Known known_of(const Regression& regression) {
  return {.key = regression.key,
          .members = regression.members,
          .began_day = regression.began_day,
          .low_day = fleet::day_of(regression.began_low_ns),
          .high_day = fleet::day_of(regression.began_high_ns),
          .found_ns = regression.found_ns,
          .q_value = regression.q_value};
}

}  // namespace headway::regress
