// What the numbers do not cover, in plain words. Nothing is said when there is nothing to say.
#include <fmt/format.h>

#include <vector>

#include "cli/human.h"
#include "cli/report_sections.h"

namespace headway::cli {
namespace {

using metrics::Coverage;

constexpr std::size_t kNotesMax = 6;

struct Counted {
  std::uint64_t count;
  const char* one;
  const char* many;
};

std::string said(const Counted& c) {
  return fmt::format("{} {}", human_count(c.count), c.count == 1 ? c.one : c.many);
}

void say_losses(std::vector<std::string>& out, const Coverage& c, bool is_live) {
  if (c.ranks_reporting == 0) {
    out.push_back("No rank left a record: only what the launcher or the scheduler saw is in here.");
  } else if (c.ranks_reporting < c.ranks_expected) {
    out.push_back(fmt::format("{} of {} ranks left a record; what the others did is not in here.",
                              human_count(c.ranks_reporting), human_count(c.ranks_expected)));
  }
  if (c.dropped_records > 0) {
    out.push_back(
        said({c.dropped_records, "record was", "records were"}) +
        " dropped because a journal was full (HEADWAY_JOURNAL_MAX_BYTES raises its bound).");
  }
  if (c.damaged_records > 0) {
    out.push_back(said({c.damaged_records, "record is", "records are"}) + " damaged and left out.");
  }
  if (c.uncommitted_records > 0) {
    out.push_back(said({c.uncommitted_records, "record was", "records were"}) +
                  (is_live ? " being written while they were read; a later report has them."
                           : " being written when the process died."));
  }
  if (c.names_dropped > 0) {
    out.push_back(said({c.names_dropped, "name", "names"}) +
                  " beyond the table's bound are shown as ~other.");
  }
  if (c.bad_lines > 0) {
    out.push_back(said({c.bad_lines, "line", "lines"}) + " could not be read and " +
                  (c.bad_lines == 1 ? "was" : "were") + " skipped.");
  }
}

void say_times(std::vector<std::string>& out, const Coverage& c, const Style& style) {
  if (!c.missing_marks.empty()) {
    std::string names;
    for (const std::string& name : c.missing_marks) names += (names.empty() ? "" : ", ") + name;
    out.push_back(
        fmt::format("Not recorded: {}. The time in front of {} counts in the neighbouring stage, "
                    "or not at all.",
                    clean(names, style), c.missing_marks.size() == 1 ? "it" : "them"));
  }
  if (c.gaps_ns > 0) {
    out.push_back(fmt::format("{} of down time is inferred: nothing says when an attempt ended.",
                              human_duration(c.gaps_ns, style)));
  }
  if (c.overlap_ns > 0) {
    out.push_back(fmt::format("Two attempts were alive at once for {}; the later one counts.",
                              human_duration(c.overlap_ns, style)));
  }
  if (c.clock_jumps > 0) {
    out.push_back(fmt::format("The system clock jumped {}; the times here do not follow it.",
                              c.clock_jumps == 1 ? "once" : human_count(c.clock_jumps) + " times"));
  }
}

void say_anomalies(std::vector<std::string>& out, const timeline::Anomalies& a) {
  const Counted all[] = {
      {a.out_of_order, "event out of order", "events out of order"},
      {a.clamped_times, "impossible time", "impossible times"},
      {a.unmatched_ends, "span ended that never began", "spans ended that never began"},
      {a.unclosed_spans, "span never ended", "spans never ended"},
      {a.too_deep, "span nested too deep", "spans nested too deep"},
      {a.unended_steps, "step without an end", "steps without an end"},
      {a.steps_backwards, "step number going backwards", "step numbers going backwards"},
      {a.merged_segments, "detail merged to stay within bounds",
       "details merged to stay within bounds"},
      {a.device_times_missing, "step without its device time", "steps without their device times"},
      {a.partial_steps, "step missing on some rank", "steps missing on some rank"},
      {a.missing_ends, "attempt without a recorded end", "attempts without a recorded end"},
      {a.events_after_end, "event after a later attempt began",
       "events after a later attempt began"},
      {a.overflowed_facts, "mark beyond what is kept", "marks beyond what is kept"},
      {a.unknown_events, "event of an unknown kind", "events of an unknown kind"},
  };
  std::string text;
  for (const Counted& c : all) {
    if (c.count > 0) text += (text.empty() ? "" : ", ") + said(c);
  }
  if (!text.empty()) out.push_back("Odd in the records: " + text + ".");
}

}  // namespace

bool add_coverage(Page& page, const metrics::Report& r, bool is_live) {
  const Style& style = page.style();
  std::vector<std::string> lines;
  say_losses(lines, r.coverage, is_live);
  say_times(lines, r.coverage, style);
  say_anomalies(lines, r.coverage.anomalies);
  std::size_t notes = 0;
  for (const std::string& note : r.coverage.notes) {
    if (notes++ == kNotesMax) {
      lines.push_back(fmt::format("... and {} more notes (--json has all).",
                                  r.coverage.notes.size() - kNotesMax));
      break;
    }
    lines.push_back(clean(note, style));
  }
  if (lines.empty()) return false;
  page.add("What these numbers do not cover", Ink::strong);
  for (const std::string& line : lines) page.paragraph(line, 2);
  return true;
}

}  // namespace headway::cli
