// The attempts, a bar each, and the failures between them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "cli/human.h"
#include "cli/report_sections.h"
#include "timeline/job.h"

namespace headway::cli {

std::string attempt_label(std::int64_t id, const metrics::Report& r) {
  constexpr std::int64_t kRunsMax = 10'000;  // beyond, it is no count but a time
  const auto run_of = [](std::int64_t attempt) { return timeline::allocation_of(attempt); };
  const bool one_run = std::all_of(r.attempts.begin(), r.attempts.end(),
                                   [&](const metrics::AttemptRow& a) { return run_of(a.id) == 0; });
  if (one_run || run_of(id) >= kRunsMax) return fmt::format("{}", id);
  return fmt::format("{}.{}", run_of(id) + 1, timeline::launch_of(id));
}

namespace {

using metrics::AttemptRow;
using metrics::FailureRow;
using metrics::Report;
using timeline::Bucket;

constexpr int kReasonColumnsMin = 7;
constexpr int kWideColumns = 72;  // less has no room for what the summary says too
constexpr int kBarCellsMin = 8;
constexpr int kBarCellsMax = 64;  // the slices that a row has

// Indices to show of n rows: all, or the first and the last few.
std::vector<std::size_t> shown_rows(std::size_t n) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    if (n <= rows_shown_max || i < rows_at_ends || i + rows_at_ends >= n) out.push_back(i);
  }
  return out;
}

// A table of text whose columns are as wide as they need to be. A column without any content is
// left out, title and all.
class Columns {
 public:
  Columns(std::vector<std::string> titles, std::vector<bool> right)
      : right_(std::move(right)), widths_(titles.size(), 0), rows_{std::move(titles)} {}

  void add(std::vector<std::string> row) {
    HW_CHECK(row.size() == widths_.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i].empty()) continue;
      widths_[i] = std::max({widths_[i], columns_of(row[i]), columns_of(rows_.front()[i])});
    }
    rows_.push_back(std::move(row));
  }
  // What all columns but one take, with two spaces in front of each.
  [[nodiscard]] int width_without(std::size_t column) const {
    int sum = 0;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      if (i != column && widths_[i] > 0) sum += widths_[i] + kGap;
    }
    return sum;
  }
  void set_width(std::size_t column, int width) { widths_[column] = width; }
  [[nodiscard]] int width(std::size_t column) const { return widths_[column]; }
  [[nodiscard]] std::size_t columns() const { return widths_.size(); }

  // Puts a cell where it belongs; row 0 holds the titles.
  void put(Line& line, std::size_t row, std::size_t column, Ink ink, const Style& style) const {
    if (widths_[column] == 0) return;
    int start = kGap;
    for (std::size_t i = 0; i < column; ++i) start += widths_[i] > 0 ? widths_[i] + kGap : 0;
    std::string text = rows_[row][column];
    if (columns_of(text) > widths_[column]) {
      text = std::string(prefix_of(text, widths_[column] - 1)) + (style.unicode ? "…" : "~");
    }
    if (right_[column]) {
      line.right(text, start + widths_[column], ink);
    } else {
      line.to(start).add(text, ink);
    }
  }

 private:
  static constexpr int kGap = 2;
  std::vector<bool> right_;
  std::vector<int> widths_;
  std::vector<std::vector<std::string>> rows_;
};

// The slices of a bar on fewer cells: each shows what fills most of it.
std::vector<Bucket> squeeze(const std::vector<Bucket>& slices, std::size_t cells) {
  if (slices.size() <= cells || cells == 0) return slices;
  std::vector<Bucket> out;
  for (std::size_t c = 0; c < cells; ++c) {
    std::array<int, timeline::kBuckets> count{};
    const std::size_t end = (c + 1) * slices.size() / cells;
    for (std::size_t i = c * slices.size() / cells; i < end; ++i)
      ++count[timeline::index(slices[i])];
    out.push_back(
        static_cast<Bucket>(std::max_element(count.begin(), count.end()) - count.begin()));
  }
  return out;
}

void draw_bar(Line& line, const std::vector<Bucket>& slices, int cells, const Style& style) {
  for (const Bucket bucket : squeeze(slices, static_cast<std::size_t>(std::max(0, cells)))) {
    const Cell& cell = cell_of(bucket);
    line.add(cell_text(cell, style), cell.ink);
  }
}

std::string steps_text(const AttemptRow& a, std::string_view dash) {
  if (a.steps == 0) return "none";
  if (a.first_step == a.last_step) return fmt::format("{}", a.first_step);
  return fmt::format("{}{}{}", a.first_step, dash, a.last_step);
}

std::string restored_text(const AttemptRow& a, const Style& style) {
  if (!a.restored_step) return "";
  const std::string tier = clean(a.restored_tier, style);
  return fmt::format("step {}{}{}", *a.restored_step, tier.empty() ? "" : ", ", tier);
}

Ink outcome_ink(const std::string& outcome) {
  return outcome == "failed" ? Ink::down : outcome == "running" ? Ink::effective : Ink::plain;
}

// How many there are, and what the bars show; of the kinds only those that occur.
void add_title(Page& page, const std::vector<AttemptRow>& attempts) {
  const Style& style = page.style();
  std::array<bool, timeline::kBuckets> used{};
  for (const AttemptRow& a : attempts) {
    for (const Bucket bucket : a.bar) used[timeline::index(bucket)] = true;
  }
  const auto occurs = [&](const Cell& cell) {
    for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
      if (used[i] && &cell_of(static_cast<Bucket>(i)) == &cell) return true;
    }
    return false;
  };
  Line line;
  line.add(attempts.size() > 1 ? fmt::format("{} attempts", attempts.size()) : "1 attempt",
           Ink::strong);
  for (const Cell& cell : all_cells()) {
    if (!occurs(cell)) continue;
    const std::string name = fmt::format(" {}", cell.name);
    if (line.columns() + 3 + columns_of(name) > style.width) {
      page.add(line);
      line = Line();
    }
    line.add("  ").add(cell_text(cell, style), cell.ink).add(name, Ink::dim);
  }
  page.add(line);
}

enum AttemptColumn : std::size_t {
  c_id,
  c_outcome,
  c_time,
  c_bar,
  c_steps,
  c_replayed,
  c_restored
};

// Steps are known for whole attempts only, not for the part of one that lies in a window.
Columns attempt_columns(const Report& r, const std::vector<std::size_t>& shown,
                        const TextOptions& options, const Page& page) {
  const bool windowed = options.windowed;
  Columns table({"", "", "time", "", "steps", "replayed", "restored"},
                {true, false, true, false, true, true, false});
  for (const std::size_t i : shown) {
    const AttemptRow& a = r.attempts[i];
    const bool replayed = !windowed && a.replayed_steps > 0;
    const bool abandoned = a.outcome == "running" && options.state == JobState::unended;
    table.add({attempt_label(a.id, r), abandoned ? "no end" : a.outcome,
               human_duration(a.end_ns - a.begin_ns, page.style()), "",
               windowed ? "" : steps_text(a, page.dash()),
               replayed ? human_count(a.replayed_steps) : "",
               windowed ? "" : restored_text(a, page.style())});
  }
  const int cells = page.style().width - 4 - table.width_without(c_bar);
  table.set_width(c_bar, std::clamp(cells, kBarCellsMin, kBarCellsMax));
  return table;
}

void add_gap(Page& page, const Report& r, std::size_t before, std::size_t after) {
  const Style& style = page.style();
  if (after > before + 1) {
    page.add(fmt::format("  ... {} attempts between are not shown", after - before - 1), Ink::dim);
    return;
  }
  const std::int64_t queued_ns = r.attempts[after].queued_before_ns;
  const std::int64_t away_ns = r.attempts[after].begin_ns - r.attempts[before].end_ns - queued_ns;
  std::string text;
  if (away_ns >= between_runs_shown_min_ns)
    text = fmt::format(" {} between two runs", human_duration(away_ns, style));
  if (queued_ns > 0) {
    text += fmt::format("{} {} queued", text.empty() ? "" : ",", human_duration(queued_ns, style));
  }
  if (!text.empty()) page.add("  ..." + text, Ink::dim);
}

std::string failure_what(const FailureRow& f, const Style& style) {
  std::string what = f.signal != 0      ? signal_name(f.signal)
                     : f.exit_code != 0 ? fmt::format("exit {}", f.exit_code)
                                        : "";
  const std::string reason = clean(f.reason, style);
  if (!reason.empty()) what += (what.empty() ? "" : ": ") + reason;
  if (what.empty() && f.origin == "preemption") return "told to stop, and stopped";
  return what.empty() ? "ended without a word" : what;
}

// The day only where the report spans several.
std::string failure_when(const FailureRow& f, const Report& r, const Style& style) {
  const std::string when = human_instant(f.t_ns, style);
  if (!is_date(f.t_ns)) return when;
  constexpr std::size_t kDay = std::string_view("2026-11-15 ").size();
  constexpr std::size_t kTime = std::string_view("21:40:00").size();
  const auto day = [&](std::int64_t t_ns) { return human_instant(t_ns, style).substr(0, kDay); };
  return day(r.begin_ns) == day(r.end_ns) ? when.substr(kDay, kTime) : when.substr(0, kDay + kTime);
}

}  // namespace

bool add_attempts(Page& page, const Report& r, const TextOptions& options) {
  if (r.attempts.empty()) return false;
  const Style& style = page.style();
  add_title(page, r.attempts);
  const std::vector<std::size_t> shown = shown_rows(r.attempts.size());
  const Columns table = attempt_columns(r, shown, options, page);
  for (std::size_t k = 0; k <= shown.size(); ++k) {
    Line line;
    if (k > 1) add_gap(page, r, shown[k - 2], shown[k - 1]);
    const AttemptRow* a = k == 0 ? nullptr : &r.attempts[shown[k - 1]];
    for (std::size_t c = 0; c < table.columns(); ++c) {
      const Ink ink = a == nullptr     ? Ink::dim
                      : c == c_outcome ? outcome_ink(a->outcome)
                                       : Ink::plain;
      table.put(line, k, c, ink, style);
      if (c == c_bar && a != nullptr) draw_bar(line, a->bar, table.width(c_bar), style);
    }
    page.add(line);
  }
  return true;
}

namespace {

// The newest come last, where the eye is.
void add_logs(Page& page, const Report& r) {
  std::vector<const FailureRow*> with_log;
  for (const FailureRow& f : r.failure_rows) {
    if (!f.log.empty()) with_log.push_back(&f);
  }
  const std::size_t skipped = with_log.size() - std::min(with_log.size(), logs_shown_max);
  for (std::size_t i = skipped; i < with_log.size(); ++i) {
    const FailureRow& f = *with_log[i];
    page.add_whole(Line()
                       .add(fmt::format("  output of attempt {}, rank {}: ",
                                        attempt_label(f.attempt, r), *f.rank))
                       .add(clean(f.log, page.style()), Ink::strong));
  }
}

}  // namespace

bool add_failures(Page& page, const Report& r) {
  if (r.failure_rows.empty()) return false;
  const Style& style = page.style();
  enum Column : std::size_t { f_when, f_attempt, f_rank, f_origin, f_what, f_lost, f_unsaved };
  const std::vector<std::size_t> shown = shown_rows(r.failure_rows.size());
  Columns table({"at", "attempt", "rank", "origin", "what", "lost", "unsaved"},
                {false, true, true, false, false, true, true});
  const bool wide = style.width >= kWideColumns;
  for (const std::size_t i : shown) {
    const FailureRow& f = r.failure_rows[i];
    table.add({failure_when(f, r, style), attempt_label(f.attempt, r),
               f.rank ? fmt::format("{}", *f.rank) : "?", f.origin, failure_what(f, style),
               human_duration(f.lost_ns, style),
               f.unsaved_ns > 0 && wide ? human_duration(f.unsaved_ns, style) : ""});
  }
  const int room = style.width - 2 - table.width_without(f_what);
  table.set_width(f_what, std::max(kReasonColumnsMin, std::min(table.width(f_what), room)));
  page.add(r.failure_rows.size() > 1 ? fmt::format("{} interruptions", r.failure_rows.size())
                                     : "1 interruption",
           Ink::strong);
  for (std::size_t k = 0; k <= shown.size(); ++k) {
    if (k > 1 && shown[k - 1] != shown[k - 2] + 1) {
      page.add(fmt::format("  ... {} between are not shown", shown[k - 1] - shown[k - 2] - 1),
               Ink::dim);
    }
    Line line;
    for (std::size_t c = 0; c < table.columns(); ++c) {
      const Ink ink = k == 0 ? Ink::dim : c == f_what ? Ink::down : Ink::plain;
      table.put(line, k, c, ink, style);
    }
    page.add(line);
  }
  add_logs(page, r);
  return true;
}

}  // namespace headway::cli
