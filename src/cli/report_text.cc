#include "cli/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/human.h"
#include "cli/report_sections.h"

namespace headway::cli {
namespace {

using metrics::Report;

constexpr int kStackCellsMax = 96;
constexpr std::size_t attrs_shown_max = 8;
constexpr std::string_view kAutoDynamic = "auto_dynamic";  // what --auto-dynamic decided last

struct Standing {
  std::string_view text;
  Ink ink;
};

Standing standing(JobState state) {
  switch (state) {
    case JobState::running:
      return {"running", Ink::effective};
    case JobState::restarting:
      return {"down, its launcher is alive", Ink::down};
    case JobState::clean:
      return {"finished", Ink::effective};
    case JobState::stopped:
      return {"stopped when asked to", Ink::wasted};
    case JobState::failed:
      return {"failed", Ink::down};
    case JobState::unended:
      return {"no end recorded", Ink::wasted};
  }
  return {"", Ink::plain};
}

// What a person chose to note comes first, and the command line, which is long, last. What only
// advice is made of, and what the page says elsewhere, is left out.
std::vector<std::pair<std::string, std::string>> attrs_to_show(const Report& r) {
  static constexpr std::string_view kLast[] = {"slurm_job_id", "host", "argv"};
  static constexpr std::string_view kLeftOut[] = {"headway", "nproc", "script",
                                                  "loaded_without_position", kAutoDynamic};
  const auto is_in = [](const auto& list, std::string_view key) {
    return std::find(std::begin(list), std::end(list), key) != std::end(list);
  };
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [key, value] : r.attrs) {
    if (is_in(kLast, key) || is_in(kLeftOut, key) || key.starts_with("import_") ||
        key.starts_with("compile_cache")) {
      continue;
    }
    if (out.size() < attrs_shown_max) out.emplace_back(key, value);
  }
  for (const std::string_view key : kLast) {
    if (const auto it = r.attrs.find(std::string(key)); it != r.attrs.end()) out.push_back(*it);
  }
  return out;
}

void add_title(Page& page, const Report& r, const TextOptions& options) {
  const Style& style = page.style();
  const std::string dot = fmt::format(" {} ", page.dot());
  page.add(title_of("job", page, r, options));
  Line when;
  if (options.windowed) {
    when.add("window ").add(human_interval(r.begin_ns, r.end_ns, style), Ink::strong);
    when.add(fmt::format("{}{} of the job's {} wall", dot, human_duration(r.wall_ns, style),
                         human_duration(options.job_wall_ns, style)));
  } else if (r.end_ns > r.begin_ns) {
    when.add(human_interval(r.begin_ns, r.end_ns, style), Ink::dim);
  }
  for (const auto& [key, value] : attrs_to_show(r)) {
    when.add(fmt::format("{}{}={}", when.columns() == 0 ? "" : dot, clean(key, style),
                         clean(value, style)),
             Ink::dim);
  }
  if (when.columns() > 0) page.add(when);
  if (const auto it = r.attrs.find(std::string(kAutoDynamic)); it != r.attrs.end()) {
    page.add_broken(Line().add("--auto-dynamic: ").add(clean(it->second, style)), 2);
  }
}

// The three numbers, and one bar that is divided as they are.
void add_head(Page& page, const Report& r) {
  if (r.coverage.ranks_reporting == 0) {  // 0% would read as a measurement
    page.add(Line().add("  ETT ", Ink::strong).add("not measured: no rank left a record"));
    return;
  }
  const HeadShares shares = head_shares(r);
  page.add(Line()
               .add("  ETT ", Ink::strong)
               .add(human_share(shares.ett), Ink::effective)
               .add("   Idleness ")
               .add(human_share(shares.idleness), Ink::wasted)
               .add("   Failure ")
               .add(human_share(shares.failure), Ink::down));
  Line line;
  line.add("  ");
  add_stack(line, shares, std::min(page.style().width - 4, kStackCellsMax), page.style());
  page.add(line);
}

// What there is to say when there is no wall time to divide.
void add_nothing(Page& page, const Report& r, const TextOptions& options) {
  const Style& style = page.style();
  if (options.windowed) {
    page.paragraph(r.queued_ns > 0
                       ? fmt::format("In this window the job only waited for resources ({}).",
                                     human_duration(r.queued_ns, style))
                       : "The job has no wall time in this window.",
                   0);
  } else if (r.queued_ns > 0) {
    const std::string waited = human_duration(r.queued_ns, style);
    page.paragraph(
        is_over(options.state)
            ? fmt::format("The job waited {} for resources and ended before it got any.", waited)
            : fmt::format("The job has waited {} for resources; nothing has run yet.", waited),
        0);
  } else {
    page.paragraph(
        "The job has no wall time yet: nothing between a first and a last event has been recorded. "
        "If it has just been started, ask again in a moment.",
        0);
  }
}

}  // namespace

HeadShares head_shares(const Report& r) {
  const std::int64_t effective = r.sums[timeline::Bucket::effective];
  if (r.wall_ns <= 0) return {0, 0, 0};
  HeadShares out{share_of(effective, r.wall_ns),
                 share_of(r.wall_ns - effective - r.failure_ns, r.wall_ns),
                 share_of(r.failure_ns, r.wall_ns)};
  // Rounded one by one they may miss 100.00 by a hundredth: the larger of the two losses gives way,
  // so that ETT is the same here and in the table.
  const std::int64_t rest = kWholeShare - out.ett - out.idleness - out.failure;
  (out.idleness > out.failure ? out.idleness : out.failure) += rest;
  return out;
}

Line title_of(std::string_view word, const Page& page, const Report& r,
              const TextOptions& options) {
  const Style& style = page.style();
  const std::string dot = fmt::format(" {} ", page.dot());
  const Standing state = standing(options.state);
  Line line;
  line.add(word).add(" ").add(clean(r.job, style), Ink::strong);
  line.add(dot).add(state.text, state.ink);
  if (!options.windowed) {
    line.add(dot).add(human_duration(r.wall_ns, style), Ink::strong).add(" wall");
    if (r.queued_ns > 0) line.add(fmt::format(" + {} queued", human_duration(r.queued_ns, style)));
    if (r.between_runs_ns >= between_runs_shown_min_ns) {
      line.add(fmt::format(" + {} between runs", human_duration(r.between_runs_ns, style)));
    }
  }
  const std::uint32_t ranks = std::max(r.coverage.ranks_reporting, r.coverage.ranks_expected);
  if (ranks > 1) line.add(dot).add(human_count(ranks)).add(" ranks");
  if (!options.found.empty()) line.add(dot).add(clean(options.found, style), Ink::dim);
  return line;
}

void add_stack(Line& line, const HeadShares& shares, int cells, const Style& style) {
  const std::vector<std::int64_t> lengths =
      share_out({shares.ett, shares.idleness, shares.failure}, cells);
  const auto cells_of = [&](std::size_t i, std::string_view cell) {
    std::string out;
    for (std::int64_t k = 0; k < lengths[i]; ++k) out += cell;
    return out;
  };
  line.add(cells_of(0, style.unicode ? "█" : "#"), Ink::effective)
      .add(cells_of(1, style.unicode ? "▒" : "="), Ink::wasted)
      .add(cells_of(2, style.unicode ? "░" : "x"), Ink::down);
}

std::string to_text(const Report& r, const TextOptions& options) {
  Page page(options.style);
  add_title(page, r, options);
  page.blank();
  if (r.wall_ns <= 0) {
    add_nothing(page, r, options);
  } else {
    add_head(page, r);
    page.blank();
    if (add_key_numbers(page, r, options)) page.blank();
    if (add_breakdown(page, r)) page.blank();
    if (add_attempts(page, r, options)) page.blank();
    if (add_failures(page, r)) page.blank();
    if (add_losses(page, r, options.saves)) page.blank();
  }
  const bool is_live = options.state == JobState::running || options.state == JobState::restarting;
  const bool covered = add_coverage(page, r, is_live);
  std::string text = page.text();
  if (!covered && text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace headway::cli
