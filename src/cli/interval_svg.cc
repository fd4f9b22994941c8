#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/xml_text.h"
#include "cli/human.h"
#include "cli/interval_views.h"
#include "cli/page.h"

namespace headway::cli {
namespace {

using interval::Waste;

constexpr double kWidth = 960, kHeight = 566;
constexpr double kLeft = 76, kRight = 930, kTop = 124, kBottom = 496;
constexpr int kSamples = 160;
constexpr int kReplayed = 25;       // points of the record lived again
constexpr double kReach = 10;       // how far to both sides of the best
constexpr double kHighest = 12;     // times the least waste: beyond, the picture is cut
constexpr double kNear = 1.1;       // what counts as nearly as good
constexpr double kLabelRoom = 9.5;  // pixels of a character, at the most

// Plain rules first: programs that know no media queries show the light picture.
constexpr const char* kStyle = R"(<style>
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;font-size:15px;fill:#27313b}
.page{fill:#ffffff}
.title{font-size:23px;font-weight:600}
.quiet{fill:#5d6b78}
.small{font-size:13px}
.grid{stroke:#e3e8ed;stroke-width:1}
.axis{stroke:#9aa7b3;stroke-width:1.2}
.near{fill:#2f6fb3;fill-opacity:.09}
.queue{fill:#5d6b78;fill-opacity:.14}
.line{fill:none;stroke-linejoin:round;stroke-linecap:round}
.all{stroke:#2462a5;stroke-width:3.2}
.saving{stroke:#b8740a;stroke-width:1.8;stroke-dasharray:7 5}
.lost{stroke:#c2383b;stroke-width:1.8;stroke-dasharray:2 5}
.t-all{fill:#2462a5;font-weight:600}
.t-saving{fill:#96600a}
.t-lost{fill:#b02f33}
.best{fill:#2462a5;stroke:#ffffff;stroke-width:2.5}
.drop{stroke:#2462a5;stroke-width:1.4}
.used{stroke:#5d6b78;stroke-width:1.6;stroke-dasharray:5 4}
.dot{fill:#ffffff;stroke:#27313b;stroke-width:1.5}
.b{font-weight:600}
@media (prefers-color-scheme:dark){
text{fill:#dfe6ec}
.page{fill:#14191f}
.quiet{fill:#9aa8b5}
.grid{stroke:#29323b}
.axis{stroke:#5d6b78}
.near{fill:#6fb1f2;fill-opacity:.13}
.all{stroke:#6fb1f2}
.saving{stroke:#e0a84a}
.lost{stroke:#f0807f}
.t-all{fill:#8cc1f5}
.t-saving{fill:#e0a84a}
.t-lost{fill:#f0807f}
.best{fill:#6fb1f2;stroke:#14191f}
.drop{stroke:#6fb1f2}
.used{stroke:#9aa8b5}
.dot{fill:#14191f;stroke:#dfe6ec}
}
</style>
)";

constexpr double kTicks[] = {
    0.001,     0.002,     0.005,     0.01,       0.02,       0.05,      0.1,     0.2,     0.5,
    1,         2,         5,         10,         30,         60,        120,     300,     600,
    1'800,     3'600,     7'200,     14'400,     28'800,     86'400,    172'800, 345'600, 864'000,
    1'728'000, 4'320'000, 8'640'000, 17'280'000, 43'200'000, 86'400'000};

Style letters() {
  Style style;
  style.unicode = true;
  return style;
}

std::string human(double seconds) {
  return human_duration(std::llround(std::min(seconds, 1e9) * 1e9), letters());
}

// "30 s", "5 min", "2 h", "4 d".
std::string tick_text(double s) {
  if (s < 1) return fmt::format("{:.0f} ms", s * 1000);
  if (s < 60) return fmt::format("{:.0f} s", s);
  if (s < 3'600) return fmt::format("{:.0f} min", s / 60);
  if (s < 86'400) return fmt::format("{:.0f} h", s / 3'600);
  return fmt::format("{:.0f} d", s / 86'400);
}

class Plot {
 public:
  explicit Plot(const IntervalAnswer& a) : a_(a) {
    lo_s_ = a.plan.persist_s / kReach;
    hi_s_ = a.plan.persist_s * kReach;
    if (const auto used = used_s()) {
      lo_s_ = std::min(lo_s_, *used / 1.3);
      hi_s_ = std::max(hi_s_, *used * 1.3);
    }
    replay_all();
    double most = std::max(at(lo_s_).total(), at(hi_s_).total());
    for (const Point& p : replayed_) most = std::max(most, p.waste);
    top_ = 1.05 * std::min(most, kHighest * a.waste.total());
  }

  std::string draw() {
    begin();
    queue_band();
    near_band();
    axes();
    open_clip();
    curve("saving", [](const Waste& w) { return w.saving; });
    curve("lost", [](const Waste& w) { return w.lost + w.lag; });
    curve("all", [](const Waste& w) { return w.total(); });
    dots();
    out_ += "</g>\n";
    used_line();
    names();
    best();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  template <typename... T>
  void put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }
  void text(double px, double py, std::string_view kind, std::string_view anchor,
            std::string_view words) {
    put("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", px, py, kind,
        anchor, base::xml_escaped(words));
  }

  [[nodiscard]] std::optional<double> used_s() const {
    if (!a_.question.job || !a_.question.job->used_interval_s) return std::nullopt;
    const double used = *a_.question.job->used_interval_s;
    return used > 0 ? std::optional(used) : std::nullopt;
  }
  [[nodiscard]] Waste at(double s) const {
    return interval::waste_at(plan_at(a_.plan, s), a_.question.cost, a_.question.failures);
  }
  [[nodiscard]] double sample(int i) const {
    return lo_s_ * std::pow(hi_s_ / lo_s_, static_cast<double>(i) / kSamples);
  }
  [[nodiscard]] double x(double s) const {
    return kLeft + (kRight - kLeft) * std::log(s / lo_s_) / std::log(hi_s_ / lo_s_);
  }
  [[nodiscard]] double y(double share) const { return kBottom - (kBottom - kTop) * share / top_; }

  void replay_all() {
    if (!a_.question.job) return;
    const IntervalQuestion& q = a_.question;
    for (int i = 0; i < kReplayed; ++i) {
      const double s = lo_s_ * std::pow(hi_s_ / lo_s_, (i + 0.5) / kReplayed);
      const interval::Plan plan = plan_at(a_.plan, s);
      replayed_.push_back({s, interval::replay(q.job->attempts, plan, q.cost, q.replica).waste()});
    }
  }

  [[nodiscard]] std::string subtitle() const {
    const IntervalQuestion& q = a_.question;
    std::string out = fmt::format("{} a save, {} failures a day", human(q.cost.effective_s()),
                                  per_day(q.failures.per_s()));
    if (q.cost.persist_lag_s > q.cost.effective_s() / 100) {
      out += fmt::format(", durable after {}", human(q.cost.persist_lag_s));
    }
    if (a_.plan.stage_s < a_.plan.persist_s) {
      out += fmt::format("; into memory every {}", human(a_.plan.stage_s));
    }
    return out;
  }

  void begin() {
    const std::string title = a_.question.job
                                  ? "How often to save: " + clean(a_.question.job->name, letters())
                                  : std::string("How often to save");
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" aria-labelledby=\"t d\">\n",
        kWidth, kHeight);
    put("<title id=\"t\">{}</title>\n", base::xml_escaped(title));
    put("<desc id=\"d\">Share of the time in the loop that is wasted, over the interval between "
        "saves. Least at {}: {}. {}.</desc>\n",
        plain_seconds(a_.plan.persist_s), percent(a_.waste.total()), base::xml_escaped(subtitle()));
    out_ += kStyle;
    put("<rect class=\"page\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n", kWidth, kHeight);
    text(kLeft - 46, 42, "title", "start", title);
    text(kLeft - 46, 68, "quiet", "start", subtitle());
  }

  // Where the waste is nearly the least: the optimum is flat.
  void near_band() {
    double from = 0, to = 0;
    for (int i = 0; i <= kSamples; ++i) {
      const double s = sample(i);
      if (at(s).total() > kNear * a_.waste.total() || s < a_.question.cost.floor_s()) continue;
      if (from == 0) from = s;
      to = s;
    }
    if (from == 0 || to <= from) return;
    put("<rect class=\"near\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        x(from), kTop, x(to) - x(from), kBottom - kTop);
    const double middle = (x(from) + x(to)) / 2;
    text(middle, kTop + 22, "quiet small", "middle",
         fmt::format("within {:.0f}% of the best", 100 * (kNear - 1)));
    text(middle, kTop + 40, "quiet small", "middle",
         fmt::format("{} to {}", human(from), human(to)));
  }

  // Where saves would begin before those in flight are done.
  void queue_band() {
    const double floor_s = std::min(a_.question.cost.floor_s(), hi_s_);
    if (floor_s <= lo_s_) return;
    put("<rect class=\"queue\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        kLeft, kTop, x(floor_s) - kLeft, kBottom - kTop);
    if (x(floor_s) - kLeft < 150) return;
    text(kLeft + 10, kBottom - 44, "quiet small", "start", "not possible:");
    text(kLeft + 10, kBottom - 26, "quiet small", "start", "saves would queue up");
  }

  void axes() {
    double step = std::pow(10, std::floor(std::log10(top_ / 3)));
    for (const double wider : {2.0, 2.5, 2.0}) {
      if (top_ / step > 6) step *= wider;
    }
    const double shown = 100 * step;
    const int decimals = shown >= 0.999 ? 0 : static_cast<int>(std::ceil(-std::log10(shown)));
    for (int i = 0; i * step <= top_; ++i) {
      const double py = y(i * step);
      put("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
          i == 0 ? "axis" : "grid", kLeft, py, kRight, py);
      text(kLeft - 10, py + 5, "quiet", "end", percent(i * step, decimals));
    }
    double taken = -1e9;
    for (const double s : kTicks) {
      if (s < lo_s_ * 0.999 || s > hi_s_ * 1.001) continue;
      const std::string words = tick_text(s);
      const double half = static_cast<double>(words.size()) * kLabelRoom / 2;
      if (x(s) - half < taken) continue;
      taken = x(s) + half;
      put("<line class=\"axis\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>\n",
          x(s), kBottom, kBottom + 6);
      text(x(s), kBottom + 24, "quiet", "middle", words);
    }
    text((kLeft + kRight) / 2, kBottom + 52, "", "middle", "time between two saves");
    text(kLeft - 46, kTop - 14, "", "start", "wasted, of the time in the loop");
  }

  void open_clip() {
    put("<clipPath id=\"c\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/></clipPath>\n<g clip-path=\"url(#c)\">\n",
        kLeft, kTop - 4, kRight - kLeft, kBottom - kTop + 4);
  }

  template <typename Part>
  void curve(const char* kind, Part part) {
    put("<path class=\"line {}\" d=\"M", kind);
    for (int i = 0; i <= kSamples; ++i) {
      const double s = sample(i);
      put("{}{:.1f} {:.1f}", i == 0 ? "" : "L", x(s), y(std::min(part(at(s)), 2 * top_)));
    }
    out_ += "\"/>\n";
  }

  void dots() {
    for (const Point& p : replayed_) {
      put("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.6\"/>\n", x(p.s),
          y(std::min(p.waste, 2 * top_)));
    }
  }

  void used_line() {
    const auto used = used_s();
    if (!used) return;
    const double px = x(*used);
    put("<line class=\"used\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>\n", px,
        kTop, kBottom);
    const bool left = px > kRight - 170;
    text(px + (left ? -9 : 9), kTop + 84, "b", left ? "end" : "start", "used: " + human(*used));
  }

  // The curves by name, each where it stands alone.
  void names() {
    const double left_s = lo_s_ * std::pow(hi_s_ / lo_s_, 0.04);
    const double right_s = lo_s_ * std::pow(hi_s_ / lo_s_, 0.955);
    text(x(left_s), y(at(left_s).lost + at(left_s).lag) - 10, "t-lost", "start", "lost work");
    text(x(right_s), y(at(right_s).saving) - 10, "t-saving", "end", "saving");
    // On a slope, inside; not on that where the line of the interval in use may stand.
    const bool on_left = used_s().value_or(0) > a_.plan.persist_s;
    double s = a_.plan.persist_s;
    while (s > lo_s_ && s < hi_s_ && at(s).total() < 0.62 * top_) s *= on_left ? 0.99 : 1.01;
    text(x(s) + (on_left ? 14 : -14), y(at(s).total()), "t-all", on_left ? "start" : "end",
         "both together");
    if (replayed_.empty()) return;
    put("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.6\"/>\n", kRight - 238, kTop - 19);
    text(kRight - 227, kTop - 14, "quiet", "start", "replayed with its own failures");
  }

  void best() {
    const double px = x(a_.plan.persist_s);
    const double py = y(a_.waste.total());
    put("<line class=\"drop\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>\n", px,
        py, kBottom);
    put("<circle class=\"best\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"7\"/>\n", px, py);
    text(px, py - 40, "b", "middle", "best: " + human(a_.plan.persist_s));
    text(px, py - 19, "b", "middle", percent(a_.waste.total()) + " wasted");
  }

  struct Point {
    double s, waste;
  };
  const IntervalAnswer& a_;
  double lo_s_ = 0, hi_s_ = 0, top_ = 0;
  std::vector<Point> replayed_;
  std::string out_;
};

}  // namespace

std::string interval_svg(const IntervalAnswer& answer) {
  return Plot(answer).draw();
}

}  // namespace headway::cli
