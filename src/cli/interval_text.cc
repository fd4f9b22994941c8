#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/human.h"
#include "cli/interval_views.h"
#include "cli/page.h"

namespace headway::cli {
namespace {

using interval::Tier;

constexpr double kDay = 86'400;
constexpr int kLabelColumns = 19;
constexpr int kBarMin = 12;  // columns; with less room there is no bar
constexpr int kBarMax = 60;
constexpr double kShownShare = 0.01;  // of a whole: what is less is not told
constexpr double kRough = 0.25;       // from this waste on the formula is far off
constexpr const char* kShortAdvice =
    "Ask again when it has trained for half an hour, or state what is missing: --blocking 15s "
    "--failures-per-day 3.";

std::int64_t ns(double seconds) {
  return std::llround(std::min(seconds, 1e9) * 1e9);
}

std::string human(double seconds, const Style& style) {
  return human_duration(ns(seconds), style);
}

std::string count(std::uint64_t n, std::string_view one) {
  return fmt::format("{} {}{}", human_count(n), one, n == 1 ? "" : "s");
}

Line labelled(std::string_view label) {
  Line line;
  line.add("  ").add(label).to(kLabelColumns);
  return line;
}

// "929.5 s (15m 29s)"; below a minute the second says nothing new.
std::string both_ways(double seconds, const Style& style) {
  if (seconds < 60) return plain_seconds(seconds);
  return fmt::format("{} ({})", plain_seconds(seconds), human(seconds, style));
}

void add_headline(Page& page, const IntervalAnswer& a) {
  const Style& style = page.style();
  Line line;
  line.add("Save every ").add(both_ways(a.plan.persist_s, style), Ink::strong);
  if (a.plan.stage_s < a.plan.persist_s) {
    line.add(", into memory every ").add(both_ways(a.plan.stage_s, style), Ink::strong);
  }
  line.add(": ").add(percent(a.waste.total()), Ink::strong);
  line.add(" of the time in the loop is wasted, the least possible.");
  page.add_broken(line, 2);
  if (a.plan.persist_s <= a.question.cost.floor_s() * (1 + 1e-9)) {
    page.paragraph(
        "More often is not possible: a save would begin before those in flight are durable.", 2);
  }
  if (a.waste.total() >= 1) {
    page.paragraph(
        "Saves and failures would take more time than there is: such a job gets nowhere.", 2);
  } else if (a.waste.total() >= kRough && a.exact) {
    page.paragraph("With so much waste the formula is rough; go by the exact model.", 2);
  }
}

void add_cost(Page& page, const IntervalQuestion& q) {
  const Style& style = page.style();
  Line line = labelled("A save costs");
  line.add(human(q.cost.effective_s(), style), Ink::strong);
  if (q.cost_assumed) {
    line.add(": assumed, because no save was recorded; state it with --blocking");
  } else {
    line.add(fmt::format(": {} blocking", human(q.cost.blocking_s, style)));
    if (q.cost.interference_s > kShownShare * q.cost.effective_s()) {
      line.add(fmt::format(", {} of slower steps", human(q.cost.interference_s, style)));
    } else if (q.job) {
      line.add(q.job->interference_known > 0 ? ", steps no slower" : ", slower steps not known");
    }
  }
  if (q.cost.persist_lag_s > kShownShare * q.cost.effective_s()) {
    line.add(fmt::format("; durable after {}", human(q.cost.persist_lag_s, style)));
  }
  if (q.replica) line.add(fmt::format("; into memory only {}", human(q.cost.stage_s, style)));
  page.add_broken(line, kLabelColumns);
}

void add_rate(Page& page, const IntervalQuestion& q) {
  const Style& style = page.style();
  Line line = labelled("Failures");
  line.add(per_day(q.failures.per_s()) + " a day", Ink::strong);
  line.add(fmt::format(", one in {}", human(1 / q.failures.per_s(), style)));
  if (q.rate) {
    const interval::Range range = interval::credible_range(q.rate->all());
    line.add(fmt::format("; {:.0f}% sure: {} to {} a day", 100 * interval::kCredible,
                         per_day(range.lo), per_day(range.hi)));
    if (q.rate->own().total() == 0) {
      line.add(fmt::format("; assumed, because none was {}: one in a day to begin with",
                           q.job ? "recorded" : "stated (--failures-per-day)"));
    } else {
      line.add("; begun from one in a day");
    }
  }
  page.add_broken(line, kLabelColumns);
}

void add_amounts(Page& page, const IntervalAnswer& a) {
  const Style& style = page.style();
  const double loop_s = a.question.loop_s;
  const auto saves = static_cast<std::uint64_t>(std::llround(loop_s / a.plan.persist_s));
  Line line = labelled("Of " + human(loop_s, style));
  line.add(fmt::format("{} in {}, {} of lost work", human(a.waste.saving * loop_s, style),
                       count(saves, "save"), human(a.waste.lost * loop_s, style)));
  if (a.waste.lag > kShownShare * a.waste.total()) {
    line.add(fmt::format(", {} lost on its way to storage", human(a.waste.lag * loop_s, style)));
  }
  page.add_broken(line, kLabelColumns);
}

void add_exact(Page& page, const IntervalAnswer& a) {
  if (!a.exact) return;
  page.add_broken(
      labelled("Exact model")
          .add(fmt::format("{}, {} (failures may hit a save, and work that is repeated "
                           "may fail again)",
                           plain_seconds(a.exact->interval_s), percent(a.exact->waste))),
      kLabelColumns);
}

// What was seen of the job.
void add_job(Page& page, const IntervalAnswer& a) {
  const IntervalJob& job = *a.question.job;
  const Style& style = page.style();
  Line head;
  head.add("job ").add(clean(job.name, style), Ink::strong);
  head.add(fmt::format("  {}  {} in the loop, {}", page.dot(), human(job.loop_s, style),
                       count(job.steps, "step")));
  if (is_date(job.begin_ns)) {
    head.add(fmt::format("  {}  {}", page.dot(), human_interval(job.begin_ns, job.end_ns, style)),
             Ink::dim);
  }
  page.add_broken(head, 2);
  page.blank();
}

void add_seen(Page& page, const IntervalJob& job) {
  const Style& style = page.style();
  Line saves = labelled("Saves seen");
  saves.add(human_count(job.saves), Ink::strong);
  if (job.used_interval_s) {
    saves.add(job.replica ? ", to the disk mostly every " : ", mostly every ");
    saves.add(both_ways(*job.used_interval_s, style));
  }
  if (job.base_step_s) saves.add("; a step takes " + human(*job.base_step_s, style));
  page.add_broken(saves, kLabelColumns);

  Line failures = labelled("Failures seen");
  failures.add(human_count(static_cast<std::uint64_t>(job.history.total())), Ink::strong);
  std::string kinds;
  for (const Tier tier : {Tier::process, Tier::node, Tier::zone}) {
    if (job.history[tier] == 0) continue;
    kinds += fmt::format("{}{:.0f} of a {}", kinds.empty() ? ": " : ", ", job.history[tier],
                         interval::tier_name(tier));
  }
  failures.add(kinds);
  const double memory = job.answered.total(interval::Answer::staged);
  const double storage = job.answered.total(interval::Answer::durable);
  if (memory + storage > 0) {
    failures.add(fmt::format("; {:.0f} went on from memory, {:.0f} from storage", memory, storage));
  }
  if (job.failed_before_step > 0) {
    failures.add(
        fmt::format("; {} more before a first step, with nothing to lose", job.failed_before_step));
  }
  page.add_broken(failures, kLabelColumns);
  page.add_broken(labelled("As it was")
                      .add(percent(job.waste()), Ink::strong)
                      .add(fmt::format(" wasted: {} saving, {} lost", human(job.saving_s, style),
                                       human(job.lost_s, style))),
                  kLabelColumns);
}

// The two sides of the bargain as one bar.
void add_bar(Line& line, const interval::Waste& waste, double most, int cells, const Style& style) {
  const double lost = waste.lost + waste.lag;
  const auto all = static_cast<int>(std::lround(waste.total() / most * cells));
  const auto saving = static_cast<int>(std::lround(all * waste.saving / (waste.saving + lost)));
  const auto repeat = [](std::string_view text, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += text;
    return out;
  };
  line.add(repeat(style.unicode ? "█" : "#", saving), Ink::wasted);
  line.add(repeat(style.unicode ? "▒" : "-", all - saving), Ink::repeated);
}

std::string note_of(const IntervalRow& row, bool best) {
  if (!row.possible) return "saves would queue up";
  if (best) return row.used ? "best, used" : "best";
  return row.used ? "used" : "";
}

void add_table(Page& page, const IntervalAnswer& a) {
  const Style& style = page.style();
  const bool replayed = a.replayed.has_value();
  const int factor_at = 33;
  const int replay_at = factor_at + (replayed ? 12 : 0);
  const int note_at = replay_at + 3;
  const int bar_at = note_at + 12;
  const int cells = std::min(kBarMax, style.width - bar_at);

  Line head;
  head.right("interval", 13, Ink::dim).right("wasted", 25, Ink::dim);
  head.right("x best", factor_at, Ink::dim);
  if (replayed) head.right("replayed", replay_at, Ink::dim);
  if (cells >= kBarMin) {
    head.to(bar_at).add(style.unicode ? "█" : "#", Ink::wasted).add(" saving  ", Ink::dim);
    head.add(style.unicode ? "▒" : "-", Ink::repeated).add(" lost", Ink::dim);
  }
  page.add(head);
  double most = 0;
  for (const IntervalRow& row : a.rows) most = std::max(most, row.waste.total());
  for (const IntervalRow& row : a.rows) {
    const bool best = std::abs(row.factor - 1) < 1e-9;
    const Ink ink = best ? Ink::strong : Ink::plain;
    Line line;
    line.right(human(row.plan.persist_s, style), 13, ink);
    line.right(percent(row.waste.total()), 25, ink);
    line.right(fmt::format("{:.3f}", row.waste.total() / a.waste.total()), factor_at, ink);
    if (replayed) line.right(percent(row.replayed->waste()), replay_at, ink);
    line.to(note_at).add(note_of(row, best), best ? Ink::strong : Ink::dim);
    if (cells >= kBarMin && row.possible) {
      line.to(bar_at);
      add_bar(line, row.waste, most, cells, style);
    }
    page.add(line);
  }
}

void add_wrong(Page& page, const IntervalAnswer& a) {
  std::string text = "A failure rate that is wrong by";
  for (std::size_t i = 0; i < a.wrong.size(); ++i) {
    text += fmt::format("{} {:.0f}x",
                        i == 0                   ? ""
                        : i + 1 < a.wrong.size() ? ","
                                                 : " or",
                        a.wrong[i].factor);
  }
  text += " wastes";
  for (std::size_t i = 0; i < a.wrong.size(); ++i) {
    text += fmt::format("{} {:.3f}",
                        i == 0                   ? ""
                        : i + 1 < a.wrong.size() ? ","
                                                 : " or",
                        a.wrong[i].cost);
  }
  page.paragraph(text + " times as much.", 2);
  if (!a.replayed) return;
  page.paragraph(
      "Replayed: what this record would have wasted, its own steps and its failures at their own "
      "times. Wasted: what to expect from now on.",
      2, Ink::dim);
}

}  // namespace

std::string plain_seconds(double seconds) {
  if (seconds >= 10'000) return fmt::format("{:.0f} s", seconds);
  if (seconds >= 100) return fmt::format("{:.1f} s", seconds);
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  return fmt::format("{:.3g} s", seconds);
}

std::string percent(double share, int decimals) {
  return fmt::format("{:.{}f}%", 100 * share, decimals);
}

std::string per_day(double per_s) {
  return fmt::format("{:.3g}", per_s * kDay);
}

std::string interval_text(const IntervalAnswer& a, const Style& style) {
  Page page(style);
  if (a.question.job) add_job(page, a);
  if (!a.question.too_short.empty()) {
    page.paragraph(a.question.too_short + " " + kShortAdvice, 2);
    page.blank();
    add_seen(page, *a.question.job);
    return page.text();
  }
  add_headline(page, a);
  page.blank();
  if (a.question.job) add_seen(page, *a.question.job);
  add_cost(page, a.question);
  add_rate(page, a.question);
  add_amounts(page, a);
  add_exact(page, a);
  page.blank();
  add_table(page, a);
  page.blank();
  add_wrong(page, a);
  return page.text();
}

}  // namespace headway::cli
