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

// All words stand outside of the field with the curves, each in a row of its own: whatever the
// numbers are, no word lies on a line or on another word.
constexpr double kWidth = 960, kHeight = 646;
constexpr double kMargin = 30, kLeft = 90, kRight = 930, kTop = 204, kBottom = 576;
constexpr double kTitleY = 42, kSubtitleY = 68, kCurvesY = 98, kAreasY = 122, kAxisY = 152;
constexpr double kBestY = 174, kUsedY = 195;
constexpr int kSamples = 160;
constexpr int kReplayed = 25;        // points of the record lived again
constexpr double kReach = 10;        // how far to both sides of the best
constexpr double kHighest = 12;      // times the least waste: beyond, the picture is cut
constexpr double kNear = 1.1;        // what counts as nearly as good
constexpr double kLabelRoom = 9.5;   // pixels of a character, at the most
constexpr double kLegendRoom = 8.4;  // and on average, in a longer text
constexpr double kSample = 34;       // of a line or an area, in front of its name
constexpr double kAside = 9;         // of a word from a line
constexpr double kBetween = 26;      // two names

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
    name_curves();
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
    text(kMargin, kTitleY, "title", "start", title);
    text(kMargin, kSubtitleY, "quiet", "start", subtitle());
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
    name_area("near", fmt::format("within {:.0f}% of the best: {} to {}", 100 * (kNear - 1),
                                  human(from), human(to)));
  }

  // Where saves would begin before those in flight are done.
  void queue_band() {
    const double floor_s = std::min(a_.question.cost.floor_s(), hi_s_);
    if (floor_s <= lo_s_) return;
    put("<rect class=\"queue\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        kLeft, kTop, x(floor_s) - kLeft, kBottom - kTop);
    name_area("queue", "not possible: saves would queue up");
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
    text(kMargin, kAxisY, "", "start", "wasted, of the time in the loop");
  }

  void open_clip() {
    put("<clipPath id=\"c\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/></clipPath>\n<g clip-path=\"url(#c)\">\n",
        kLeft, kTop, kRight - kLeft, kBottom - kTop);
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
      if (p.waste > top_) {  // an arrow: it is above the picture
        put("<path class=\"dot\" d=\"M{:.1f} {:.1f}l4.5 8h-9z\"><title>{}</title></path>\n", x(p.s),
            kTop + 1.5, percent(p.waste));
        continue;
      }
      put("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.6\"/>\n", x(p.s), y(p.waste));
    }
  }

  // A line from a word above the field down to the axis.
  void upright(const char* kind, double px, double from_y, double words_x, const char* anchor,
               std::string_view words) {
    put("<line class=\"{0}\" x1=\"{1:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" y2=\"{3:.1f}\"/>\n", kind,
        px, from_y + 6, kBottom);
    text(words_x, from_y, "b", anchor, words);
  }
  [[nodiscard]] static double half_of(std::string_view words) {
    return static_cast<double>(words.size()) * kLabelRoom / 2;
  }

  void used_line() {
    const auto used = used_s();
    if (!used) return;
    const double px = x(*used), best_px = x(a_.plan.persist_s);
    const std::string words = "used: " + human(*used);
    const double half = half_of(words);
    // The other line comes down from above: the word steps aside.
    if (std::abs(px - best_px) < half + kAside) {
      const bool left = px < best_px;
      upright("used", px, kUsedY, left ? best_px - kAside : best_px + kAside,
              left ? "end" : "start", words);
      return;
    }
    upright("used", px, kUsedY, std::clamp(px, kLeft + half, kRight - half), "middle", words);
  }

  void best() {
    const double px = x(a_.plan.persist_s);
    const std::string words =
        fmt::format("best: {}, {} wasted", human(a_.plan.persist_s), percent(a_.waste.total()));
    const double half = half_of(words);
    upright("drop", px, kBestY, std::clamp(px, kLeft + half, kRight - half), "middle", words);
    put("<circle class=\"best\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"7\"/>\n", px, y(a_.waste.total()));
  }

  void name_curves() {
    double px = kMargin;
    const auto name = [&](const char* kind, std::string_view words) {
      put("<path class=\"line {}\" d=\"M{:.1f} {:.1f}h{:.0f}\"/>\n", kind, px, kCurvesY - 5,
          kSample - 8);
      text(px + kSample, kCurvesY, fmt::format("t-{}", kind), "start", words);
      px += kSample + static_cast<double>(words.size()) * kLegendRoom + kBetween;
    };
    name("all", "both together");
    name("saving", "saving");
    name("lost", "lost work");
    if (replayed_.empty()) return;
    put("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.6\"/>\n", px + kSample - 12,
        kCurvesY - 5);
    const bool cut = std::any_of(replayed_.begin(), replayed_.end(),
                                 [&](const Point& p) { return p.waste > top_; });
    text(px + kSample, kCurvesY, "quiet", "start",
         cut ? "replayed with its own failures; \u25b3 above the picture"
             : "replayed with its own failures");
  }

  void name_area(const char* kind, std::string_view words) {
    put("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"14\"/>\n", kind,
        area_x_, kAreasY - 12, kSample - 8);
    text(area_x_ + kSample, kAreasY, "quiet", "start", words);
    area_x_ += kSample + static_cast<double>(words.size()) * kLegendRoom + kBetween;
  }

  struct Point {
    double s, waste;
  };
  const IntervalAnswer& a_;
  double lo_s_ = 0, hi_s_ = 0, top_ = 0;
  std::vector<Point> replayed_;
  double area_x_ = kMargin;  // where the next one is named
  std::string out_;
};

}  // namespace

std::string interval_svg(const IntervalAnswer& answer) {
  return Plot(answer).draw();
}

}  // namespace headway::cli
