#include "cli/report_against.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/human.h"
#include "cli/report_sections.h"

namespace headway::cli {
namespace {

using metrics::Compared;
using metrics::Comparison;
using metrics::Report;
using metrics::Unit;
using metrics::Verdict;
using timeline::Bucket;
using timeline::Group;

constexpr int kLabelColumns = 27;
constexpr int kValueColumnsMin = 10;
constexpr int kRatioColumns = 13;  // with the gap before it
constexpr int kNameColumnsMax = 16;
constexpr int kStackCellsMax = 64;
constexpr double kRatioShownMax = 1000;
constexpr std::int64_t kSmallShare = 100;  // hundredths of a percent of both walls: not on its own

constexpr std::pair<std::string_view, std::string_view> kLabels[] = {
    {"wall_ns", "Wall time"},
    {"ett_pct", "ETT"},
    {"failure_ns", "Failure"},
    {"idleness_ns", "Idleness"},
    {"time_to_start_ns", "Time to start"},
    {"interruptions", "Interruptions"},
    {"time_to_recover_ns", "Time to recover, mean"},
    {"time_to_new_data_ns", "New data after, mean"},
    {"new_steps", "New steps"},
    {"replayed_steps", "Steps replayed"},
    {"unsaved_ns", "Unsaved training"},
    {"step_mean_ns", "A step, mean"},
    {"saves", "Saves"},
    {"checkpoint_blocked_ns", "Stood still for saves"},
};

std::string_view label_of(std::string_view name) {
  for (const auto& [key, label] : kLabels) {
    if (key == name) return label;
  }
  return name;
}

std::string number_text(const std::optional<double>& value, Unit unit, const Style& style) {
  if (!value) return style.unicode ? "–" : "-";
  switch (unit) {
    case Unit::pct:
      return human_share(std::llround(*value * 100));
    case Unit::ns:
      return *value == 0 ? "0" : human_duration(std::llround(*value), style);
    case Unit::count:
      return human_count(static_cast<std::uint64_t>(std::llround(*value)));
  }
  return "";
}

// "2.85x less", "same"; nothing where the two cannot be divided.
std::string ratio_text(const Compared& row) {
  if (row.verdict() == Verdict::same) return "same";
  const std::optional<double> ratio = row.ratio();
  if (!ratio || row.verdict() == Verdict::none) return "";
  if (*ratio == 0) return "none";
  const double times = std::max(*ratio, 1 / *ratio);
  const std::string_view word = *ratio < 1 ? "less" : "more";
  if (times >= kRatioShownMax) return fmt::format(">{:.0f}x {}", kRatioShownMax, word);
  return fmt::format("{:.{}f}x {}", times, times < 10 ? 2 : times < 100 ? 1 : 0, word);
}

Ink verdict_ink(Verdict verdict) {
  if (verdict == Verdict::better) return Ink::effective;
  return verdict == Verdict::worse ? Ink::down : Ink::dim;
}

std::string clipped(std::string_view name, int columns, const Style& style) {
  std::string text = clean(name, style);
  if (columns_of(text) <= columns) return text;
  return std::string(prefix_of(text, columns - 1)) + (style.unicode ? "…" : "~");
}

class Sheet {
 public:
  Sheet(Page& page, const Comparison& c) : page_(page), c_(c) {
    const Style& style = page.style();
    const int most = (style.width - kLabelColumns - kRatioColumns) / 2;
    const int names =
        std::max(columns_of(clean(c.job, style)), columns_of(clean(c.against, style)));
    columns_ = std::clamp(names + 2, kValueColumnsMin, std::min(most, kNameColumnsMax + 2));
  }

  void heads(std::string_view title) {
    const Style& style = page_.style();
    Line line;
    line.add(title, Ink::strong);
    line.right(clipped(c_.against, columns_ - 1, style), first(), Ink::dim);
    line.right(clipped(c_.job, columns_ - 1, style), second(), Ink::dim);
    page_.add(line);
  }

  void row(std::string_view label, int indent, const Compared& row) {
    const Style& style = page_.style();
    Line line;
    line.to(indent).add(label, indent > 2 ? Ink::dim : Ink::plain);
    line.right(number_text(row.against, row.unit, style), first());
    const Verdict verdict = row.verdict();
    line.right(number_text(row.job, row.unit, style), second(),
               verdict == Verdict::better ? Ink::strong : Ink::plain);
    line.to(second() + 2).add(ratio_text(row), verdict_ink(verdict));
    page_.add(line);
  }

 private:
  [[nodiscard]] int first() const { return kLabelColumns + columns_; }
  [[nodiscard]] int second() const { return first() + columns_; }

  Page& page_;
  const Comparison& c_;
  int columns_;
};

// One bar for each, the longer one as long as there is room.
void add_bars(Page& page, const Report& job, const Report& against) {
  const Style& style = page.style();
  const std::int64_t longest = std::max(job.wall_ns, against.wall_ns);
  if (longest <= 0) return;
  const int cells_max = std::min(style.width - kNameColumnsMax - 16, kStackCellsMax);
  for (const Report* r : {&against, &job}) {
    const double part = static_cast<double>(r->wall_ns) / static_cast<double>(longest);
    const int cells = std::max(1, static_cast<int>(std::lround(part * cells_max)));
    Line line;
    line.add("  ").add(clipped(r->job, kNameColumnsMax, style)).to(kNameColumnsMax + 3);
    if (r->coverage.ranks_reporting == 0) {
      line.add("not measured: no rank left a record", Ink::dim);
    } else {
      add_stack(line, head_shares(*r), cells, style);
      line.add("  " + human_duration(r->wall_ns, style));
    }
    page.add(line);
  }
  page.add(Line()
               .to(kNameColumnsMax + 3)
               .add(style.unicode ? "█" : "#", Ink::effective)
               .add(" ETT   ")
               .add(style.unicode ? "▒" : "=", Ink::wasted)
               .add(" Idleness   ")
               .add(style.unicode ? "░" : "x", Ink::down)
               .add(" Failure"));
  page.blank();
}

bool is_small(const Compared& part, const Report& job, const Report& against) {
  const auto share = [](const std::optional<double>& ns, const Report& r) {
    return share_of(std::llround(ns.value_or(0)), r.wall_ns);
  };
  return share(part.job, job) < kSmallShare && share(part.against, against) < kSmallShare;
}

// A group, and those of its parts that are large enough in one of the two; the rest in one row.
void add_group(Sheet& sheet, const Comparison& c, Group group, const Report& job,
               const Report& against) {
  const Compared& whole = c.groups[static_cast<std::size_t>(group)];
  sheet.row(timeline::group_name(group), 2, whole);
  Compared rest{"", Unit::ns, whole.wanted, 0.0, 0.0};
  std::size_t parts = 0;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    if (timeline::group_of(bucket) != group) continue;
    if (timeline::bucket_name(bucket) == timeline::group_name(group)) return;  // its only part
    const Compared& part = c.buckets[i];
    if (!is_small(part, job, against)) {
      sheet.row(timeline::bucket_name(bucket), 4, part);
      ++parts;
      continue;
    }
    rest.job = *rest.job + *part.job;
    rest.against = *rest.against + *part.against;
  }
  if (parts > 0 && *rest.job + *rest.against > 0) sheet.row("all smaller ones", 4, rest);
}

}  // namespace

std::string to_text(const Comparison& c, const Shown& job, const Shown& against) {
  Page page(job.options.style);
  page.add(title_of("job", page, job.report, job.options));
  page.add(title_of("against", page, against.report, against.options));
  page.blank();
  add_bars(page, job.report, against.report);
  Sheet sheet(page, c);
  sheet.heads("Two jobs");
  for (const Compared& row : c.numbers) sheet.row(label_of(row.name), 2, row);
  page.blank();
  sheet.heads("Where the time went");
  for (std::size_t i = 0; i < timeline::kGroups; ++i) {
    const Compared& row = c.groups[i];
    if (*row.job + *row.against > 0) {
      add_group(sheet, c, static_cast<Group>(i), job.report, against.report);
    }
  }
  if (!c.same_work) {
    page.blank();
    page.add("Not the same work", Ink::down);
    for (const std::string& note : c.notes) {
      page.paragraph(clean(note, page.style()), 2);
    }
  }
  return page.text();
}

}  // namespace headway::cli
