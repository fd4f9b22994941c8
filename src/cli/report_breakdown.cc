// The L2 table with what lies under it (L3 stages, parts of the wasted time), and the losses.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/advice.h"
#include "cli/human.h"
#include "cli/report_sections.h"

namespace headway::cli {
namespace {

using metrics::Report;
using timeline::Bucket;
using timeline::Group;

constexpr int kTimeColumn = 36;
constexpr int kShareColumn = 46;
constexpr int kBarColumn = 48;
constexpr int kNoteColumns = 29;           // right of the bars: who held a stage up
constexpr std::int64_t kSmallShare = 100;  // hundredths of a percent: told in passing
constexpr std::int64_t kHeldUpNsMin = 100'000'000;
constexpr std::int64_t kHeldUpDivisor = 10;  // of the stage's time

struct Part {
  Bucket bucket;
  std::int64_t ns;
};

// The non-zero buckets of a group.
std::vector<Part> parts_of(const timeline::Sums& sums, Group group) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    if (timeline::group_of(bucket) != group || sums.ns[i] == 0) continue;
    parts.push_back({bucket, sums.ns[i]});
  }
  return parts;
}

// Who came last through a stage, where that mattered.
std::string held_up_note(const Report& r, const Part& part, const Style& style) {
  const metrics::StageRow* most = nullptr;
  for (const metrics::StageRow& s : r.critical_stages) {
    const bool shown = std::any_of(r.attempts.begin(), r.attempts.end(),
                                   [&](const auto& a) { return a.id == s.attempt; });
    if (!shown || s.stage != timeline::bucket_name(part.bucket)) continue;
    if (most == nullptr || s.held_up_ns > most->held_up_ns) most = &s;
  }
  if (most == nullptr || timeline::group_of(part.bucket) != Group::launcher_init) return "";
  // More than the stage itself took: who was last had come late to it already.
  if (most->held_up_ns > part.ns) return "";
  if (most->held_up_ns < std::max(kHeldUpNsMin, part.ns / kHeldUpDivisor)) return "";
  return fmt::format("rank {} last, by {}", most->rank, human_duration(most->held_up_ns, style));
}

struct TableRow {
  std::string label;
  int indent;
  std::int64_t ns;
  Ink ink;
  std::string note;
};

// Collects the rows first: one note makes room for notes in all of them, so that bars compare.
class Table {
 public:
  explicit Table(const Report& r) : r_(r) {}

  void add_group(Group group, const Style& style) {
    const std::vector<Part> parts = parts_of(r_.sums, group);
    std::string label(timeline::group_name(group));
    const bool only = parts.size() == 1;
    if (only && timeline::bucket_name(parts[0].bucket) != label) {
      label += fmt::format(" / {}", timeline::bucket_name(parts[0].bucket));
    }
    rows_.push_back({label, 2, r_.sums.group(group), ink_of(group),
                     only ? held_up_note(r_, parts[0], style) : ""});
    if (only) return;
    std::string small;
    for (const Part& part : parts) {
      const std::string name(timeline::bucket_name(part.bucket));
      std::string note = held_up_note(r_, part, style);
      if (share_of(part.ns, r_.wall_ns) < kSmallShare && note.empty()) {
        small +=
            fmt::format("{}{} {}", small.empty() ? "" : ", ", name, human_duration(part.ns, style));
      } else {
        rows_.push_back({name, 4, part.ns, cell_of(part.bucket).ink, std::move(note)});
      }
    }
    if (!small.empty()) rows_.push_back({small, 4, 0, Ink::dim, ""});
  }

  void print(Page& page) const {
    const bool notes = std::any_of(rows_.begin(), rows_.end(),
                                   [](const TableRow& row) { return !row.note.empty(); });
    const int cells = page.style().width - kBarColumn - (notes ? kNoteColumns : 0);
    for (const TableRow& row : rows_) print_row(page, row, cells);
  }

 private:
  void print_row(Page& page, const TableRow& row, int cells) const {
    if (row.ns == 0) {
      page.paragraph(row.label, row.indent, row.ink);
      return;
    }
    const Style& style = page.style();
    Line line;
    line.to(row.indent).add(row.label, row.indent > 2 ? Ink::dim : Ink::plain);
    line.right(human_duration(row.ns, style), kTimeColumn);
    line.right(human_share(share_of(row.ns, r_.wall_ns)), kShareColumn);
    line.to(kBarColumn).add(bar(row.ns, r_.wall_ns, cells, style), row.ink);
    if (!row.note.empty()) line.to(style.width - kNoteColumns + 1).add(row.note, Ink::down);
    page.add(line);
  }

  const Report& r_;
  std::vector<TableRow> rows_;
};

std::string full_name(Bucket bucket) {
  const std::string_view group = timeline::group_name(timeline::group_of(bucket));
  const std::string_view name = timeline::bucket_name(bucket);
  return group == name ? std::string(name) : fmt::format("{} / {}", group, name);
}

}  // namespace

bool add_breakdown(Page& page, const Report& r) {
  Line head;
  head.add("Where the time went", Ink::strong).right("time", kTimeColumn, Ink::dim);
  head.right("share", kShareColumn, Ink::dim);
  page.add(head);
  Table table(r);
  std::string nothing;
  for (std::size_t i = 0; i < timeline::kGroups; ++i) {
    const auto group = static_cast<Group>(i);
    if (r.sums.group(group) > 0) {
      table.add_group(group, page.style());
    } else {
      nothing += fmt::format("{}{}", nothing.empty() ? "" : ", ", timeline::group_name(group));
    }
  }
  table.print(page);
  if (!nothing.empty()) page.paragraph("nothing in " + nothing, 2, Ink::dim);
  return true;
}

bool add_losses(Page& page, const Report& r, const std::optional<SaveAdvice>& saves) {
  const std::vector<Loss> losses = largest_losses(r);
  if (losses.empty()) return false;
  const Style& style = page.style();
  page.add(losses.size() > 1 ? "Largest losses, and what to do" : "Largest loss, and what to do",
           Ink::strong);
  std::optional<SaveAdvice> left = saves;  // how often to save is said once
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const Loss& loss = losses[i];
    page.add(Line()
                 .add(fmt::format("  {}. ", i + 1))
                 .add(full_name(loss.bucket), cell_of(loss.bucket).ink)
                 .add(fmt::format("  {}, {}", human_duration(loss.ns, style),
                                  human_share(share_of(loss.ns, r.wall_ns)))));
    page.paragraph(advice_for(loss.bucket, r, left, style), 5);
    if (is_about_saves(loss.bucket)) left.reset();
  }
  return true;
}

}  // namespace headway::cli
