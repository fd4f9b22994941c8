#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/interval_views.h"

namespace headway::cli {
namespace {

using interval::Tier;
using Json = nlohmann::ordered_json;

constexpr double kDay = 86'400;

Json waste_json(const interval::Waste& waste) {
  return {
      {"total", waste.total()}, {"saving", waste.saving}, {"lost", waste.lost}, {"lag", waste.lag}};
}

Json replayed_json(const interval::Replayed& r) {
  return {{"waste", r.waste()},
          {"saving_s", r.saving_s},
          {"lost_s", r.lost_s},
          {"saves", r.saves},
          {"failures", r.failures}};
}

Json posterior_json(const interval::Posterior& posterior) {
  const interval::Range range = interval::credible_range(posterior);
  return {{"per_day", posterior.mean_per_s() * kDay},
          {"range_per_day", {range.lo * kDay, range.hi * kDay}},
          {"shape", posterior.shape},
          {"days", posterior.seconds / kDay}};
}

Json rate_json(const IntervalQuestion& q) {
  Json out = {{"per_day", q.failures.per_s() * kDay}, {"stated", !q.rate}};
  if (!q.rate) return out;
  out["range_per_day"] = posterior_json(q.rate->all())["range_per_day"];
  out["credible"] = interval::kCredible;
  for (const Tier tier : {Tier::process, Tier::node, Tier::zone}) {
    out["tiers"][interval::tier_name(tier)] = posterior_json(q.rate->of(tier));
  }
  return out;
}

Json job_json(const IntervalJob& job) {
  Json out = {
      {"name", job.name},
      {"begin_ns", job.begin_ns},
      {"end_ns", job.end_ns},
      {"loop_s", job.loop_s},
      {"steps", job.steps},
      {"saves", job.saves},
      {"interference_known", job.interference_known},
      {"failures",
       {{"process", job.history[Tier::process]},
        {"node", job.history[Tier::node]},
        {"zone", job.history[Tier::zone]},
        {"before_first_step", job.failed_before_step}}},
      {"answered",
       {{"memory", job.answered.total(interval::Answer::staged)},
        {"storage", job.answered.total(interval::Answer::durable)}}},
      {"recorded", {{"waste", job.waste()}, {"saving_s", job.saving_s}, {"lost_s", job.lost_s}}}};
  out["used_interval_s"] = job.used_interval_s ? Json(*job.used_interval_s) : Json();
  out["base_step_s"] = job.base_step_s ? Json(*job.base_step_s) : Json();
  return out;
}

Json row_json(const IntervalRow& row) {
  Json out = {{"interval_s", row.plan.persist_s},
              {"factor", row.factor},
              {"possible", row.possible},
              {"used", row.used},
              {"waste", waste_json(row.waste)}};
  if (row.replayed) out["replayed"] = replayed_json(*row.replayed);
  return out;
}

}  // namespace

std::string interval_json(const IntervalAnswer& a) {
  const IntervalQuestion& q = a.question;
  Json out = Json::object();
  if (q.too_short.empty()) {
    out = {{"interval_s", a.plan.persist_s}, {"stage_interval_s", a.plan.stage_s}};
    out["waste"] = waste_json(a.waste);
  } else {
    out = {{"interval_s", nullptr}, {"stage_interval_s", nullptr}, {"too_short", q.too_short}};
  }
  if (a.replayed) out["replayed"] = replayed_json(*a.replayed);
  out["cost"] = {
      {"blocking_s", q.cost.blocking_s},         {"interference_s", q.cost.interference_s},
      {"effective_s", q.cost.effective_s()},     {"persist_lag_s", q.cost.persist_lag_s},
      {"saves_in_flight", q.cost.in_flight_max}, {"assumed", q.cost_assumed}};
  if (q.replica) out["cost"]["stage_s"] = q.cost.stage_s;
  out["failures"] = rate_json(q);
  out["loop_s"] = q.loop_s;
  if (a.exact) out["exact"] = {{"interval_s", a.exact->interval_s}, {"waste", a.exact->waste}};
  for (const IntervalRow& row : a.rows) out["table"].push_back(row_json(row));
  for (const WrongRate& wrong : a.wrong) {
    out["wrong_rate"].push_back({{"factor", wrong.factor}, {"cost", wrong.cost}});
  }
  if (q.job) out["job"] = job_json(*q.job);
  // Names come from outside: what is no UTF-8 is replaced, not thrown at.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace headway::cli
