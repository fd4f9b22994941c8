#include "cli/fleet_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/human.h"
#include "cli/page.h"
#include "fleet/bucket_words.h"

namespace headway::cli {
namespace {

using base::Int128;
using base::Status;
using timeline::Bucket;
using timeline::kBuckets;

constexpr double kHourNs = 3.6e12;
constexpr std::size_t kGroupsShown = 20, kLossesShown = 8;

// Spark's sums have up to 38 digits.
base::Result<Int128> parse_wide(const std::string& text) {
  constexpr std::size_t digits_max = 38;
  const bool negative = text.starts_with('-');
  const std::string_view digits = std::string_view(text).substr(negative ? 1 : 0);
  if (digits.empty() || digits.size() > digits_max) return Status::corrupt(text + ": no sum");
  Int128 value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return Status::corrupt(text + ": no sum");
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

std::string wide_text(Int128 value) {
  return fmt::format("{}", value);
}

double hours(Int128 ns) {
  return static_cast<double>(ns) / kHourNs;
}

double percent(Int128 part, Int128 whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

Int128 wall_of(const FleetGroup& group) {
  Int128 sum = 0;
  for (const Int128 ns : group.device_ns) sum += ns;
  return sum;
}

Int128 effective_of(const FleetGroup& group) {
  return group.device_ns[timeline::index(Bucket::effective)];
}

FleetGroup total_of(const FleetSummary& summary) {
  FleetGroup total;
  total.jobs = summary.jobs;
  total.attempts = summary.attempts;
  for (const FleetGroup& group : summary.groups) {
    total.failures += group.failures;
    total.failure_device_ns += group.failure_device_ns;
    for (std::size_t i = 0; i < kBuckets; ++i) total.device_ns[i] += group.device_ns[i];
  }
  return total;
}

// Most device time first.
std::vector<const FleetGroup*> ranked(const FleetSummary& summary) {
  std::vector<const FleetGroup*> out;
  for (const FleetGroup& group : summary.groups) out.push_back(&group);
  std::ranges::stable_sort(
      out, [](const FleetGroup* x, const FleetGroup* y) { return wall_of(*x) > wall_of(*y); });
  return out;
}

std::vector<Bucket> losses_of(const FleetGroup& total) {
  std::vector<Bucket> out;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (static_cast<Bucket>(i) != Bucket::effective && total.device_ns[i] > 0) {
      out.push_back(static_cast<Bucket>(i));
    }
  }
  std::ranges::stable_sort(out, [&](Bucket x, Bucket y) {
    return total.device_ns[timeline::index(x)] > total.device_ns[timeline::index(y)];
  });
  return out;
}

struct Columns {
  int jobs, attempts, hours, ett, failure, failures;
};
constexpr Columns kColumns = {
    .jobs = 36, .attempts = 47, .hours = 63, .ett = 73, .failure = 84, .failures = 95};
constexpr int kKeyColumns = 26;

void add_row(Page& page, const FleetGroup& group, std::string_view key, Ink ink) {
  const Int128 wall = wall_of(group);
  page.add(
      Line()
          .add("  ")
          .add(prefix_of(key, kKeyColumns), ink)
          .right(human_count(group.jobs), kColumns.jobs)
          .right(human_count(group.attempts), kColumns.attempts)
          .right(fmt::format("{:.1f}", hours(wall)), kColumns.hours)
          .right(fmt::format("{:.2f}%", percent(effective_of(group), wall)), kColumns.ett,
                 Ink::effective)
          .right(fmt::format("{:.2f}%", percent(group.failure_device_ns, wall)), kColumns.failure)
          .right(human_count(group.failures), kColumns.failures));
}

void add_groups(Page& page, const FleetSummary& summary, const FleetGroup& total) {
  page.add(Line()
               .add("  ")
               .add(summary.by, Ink::dim)
               .right("jobs", kColumns.jobs, Ink::dim)
               .right("attempts", kColumns.attempts, Ink::dim)
               .right("device-hours", kColumns.hours, Ink::dim)
               .right("ETT", kColumns.ett, Ink::dim)
               .right("Failure", kColumns.failure, Ink::dim)
               .right("failures", kColumns.failures, Ink::dim));
  const auto groups = ranked(summary);
  for (std::size_t i = 0; i < groups.size() && i < kGroupsShown; ++i) {
    const std::string key = clean(groups[i]->key, page.style());
    add_row(page, *groups[i], key.empty() ? "(not given)" : key, Ink::plain);
  }
  if (groups.size() > kGroupsShown) {
    page.add(Line().add(fmt::format("  and {} more", groups.size() - kGroupsShown), Ink::dim));
  }
  add_row(page, total, "all", Ink::strong);
}

void add_losses(Page& page, const FleetGroup& total) {
  const auto losses = losses_of(total);
  if (losses.empty()) return;
  const Int128 wall = wall_of(total);
  page.blank();
  page.add("Most is lost in", Ink::strong);
  for (std::size_t i = 0; i < losses.size() && i < kLossesShown; ++i) {
    const Int128 ns = total.device_ns[timeline::index(losses[i])];
    page.add(Line()
                 .add("  ")
                 .add(fleet::bucket_label(losses[i]))
                 .right(fmt::format("{:.1f} device-hours", hours(ns)), kColumns.hours)
                 .right(fmt::format("{:.2f}%", percent(ns, wall)), kColumns.ett));
  }
}

void add_notes(Page& page, const FleetSummary& summary) {
  if (summary.notes.empty()) return;
  page.blank();
  page.add(Line().add(fmt::format("{} could not be read, {} left out, {} incomplete",
                                  plural(summary.jobs_lost, "job"),
                                  plural(summary.files_lost, "file was", "files were"),
                                  plural(summary.files_damaged, "file is", "files are")),
                      Ink::wasted));
  for (const FleetNote& note : summary.notes) {
    page.add_whole(
        Line().add("  ").add(clean(fmt::format("{}: {}", note.file, note.reason), page.style())));
  }
  const std::uint64_t all = summary.jobs_lost + summary.files_lost + summary.files_damaged;
  if (all > summary.notes.size()) {
    page.add(Line().add(fmt::format("  and {} more{}", all - summary.notes.size(),
                                    summary.out.empty() ? "" : ": errors.parquet has them all"),
                        Ink::dim));
  }
}

Json group_json(const FleetGroup& group) {
  const Int128 wall = wall_of(group);
  Json buckets = Json::object();
  for (std::size_t i = 0; i < kBuckets; ++i) {
    buckets[std::string(fleet::bucket_word(static_cast<Bucket>(i)))] =
        wide_text(group.device_ns[i]);
  }
  const double ett_pct = percent(effective_of(group), wall);
  const double failure_pct = percent(group.failure_device_ns, wall);
  return {{"jobs", group.jobs},
          {"attempts", group.attempts},
          {"failures", group.failures},
          {"device_hours", hours(wall)},
          {"ett_pct", ett_pct},
          {"failure_pct", failure_pct},
          {"idleness_pct", wall == 0 ? 0 : 100 - ett_pct - failure_pct},
          {"failure_device_ns", wide_text(group.failure_device_ns)},
          {"device_ns", buckets}};
}

std::string text_or_empty(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

Status read_group(const nlohmann::json& from, FleetGroup& to) {
  to.key = text_or_empty(from.at("key"));
  to.jobs = from.at("jobs");
  to.attempts = from.at("attempts");
  to.failures = from.at("failures");
  auto failure = parse_wide(from.at("failure_device_ns"));
  if (!failure.ok()) return failure.status();
  to.failure_device_ns = *failure;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const std::string word(fleet::bucket_word(static_cast<Bucket>(i)));
    auto ns = parse_wide(from.at("device_ns").at(word));
    if (!ns.ok()) return ns.status();
    to.device_ns[i] = *ns;
  }
  return {};
}

Status fill(const nlohmann::json& from, FleetSummary& to) {
  to.journals = from.at("journals");
  to.out = from.at("out");
  to.jobs = from.at("jobs");
  to.attempts = from.at("attempts");
  to.bytes = from.at("bytes");
  to.tasks = from.at("tasks");
  to.first_day = text_or_empty(from.at("first_day"));
  to.last_day = text_or_empty(from.at("last_day"));
  to.by = from.at("by");
  to.jobs_lost = from.at("lost").at("job");
  to.files_lost = from.at("lost").at("file");
  to.files_damaged = from.at("lost").at("records");
  for (const auto& [name, seconds] : from.at("timings_s").items()) to.timings_s[name] = seconds;
  for (const auto& note : from.at("notes")) {
    to.notes.push_back({note.at("job"), note.at("lost"), note.at("file"), note.at("reason")});
  }
  for (const auto& group : from.at("groups")) {
    if (Status status = read_group(group, to.groups.emplace_back()); !status.ok()) return status;
  }
  return {};
}

}  // namespace

base::Result<FleetSummary> read_summary(const std::string& json) {
  FleetSummary summary;
  try {  // the library's way to say that it is another answer
    if (Status status = fill(nlohmann::json::parse(json), summary); !status.ok()) return status;
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(fmt::format("the summary of the Spark job: {}", error.what()));
  }
  return summary;
}

std::string to_text(const FleetSummary& summary, const Style& style) {
  Page page(style);
  const FleetGroup total = total_of(summary);
  Line head;
  head.add(clean(summary.journals, style), Ink::strong);
  head.add(fmt::format(" {} {} {} {} ", page.dot(), plural(summary.jobs, "job"), page.dot(),
                       plural(summary.attempts, "attempt")));
  if (!summary.first_day.empty()) {
    head.add(
        fmt::format("{} {} {} {}", page.dot(), summary.first_day, page.dash(), summary.last_day));
  }
  page.add_whole(head);
  page.blank();
  add_groups(page, summary, total);
  add_losses(page, total);
  add_notes(page, summary);
  if (!summary.out.empty()) {
    page.blank();
    page.add_whole(Line().add("written to ").add(clean(summary.out, style), Ink::strong));
  }
  return page.text();
}

Json to_json(const FleetSummary& summary) {
  Json out = {{"journals", summary.journals},
              {"out", summary.out.empty() ? Json() : Json(summary.out)},
              {"bytes", summary.bytes},
              {"tasks", summary.tasks},
              {"first_day", summary.first_day.empty() ? Json() : Json(summary.first_day)},
              {"last_day", summary.last_day.empty() ? Json() : Json(summary.last_day)},
              {"by", summary.by},
              {"total", group_json(total_of(summary))},
              {"groups", Json::array()},
              {"losses", Json::array()},
              {"lost",
               {{"jobs", summary.jobs_lost},
                {"files", summary.files_lost},
                {"damaged_files", summary.files_damaged}}},
              {"notes", Json::array()},
              {"timings_s", summary.timings_s}};
  for (const FleetGroup* group : ranked(summary)) {
    Json one = {{"key", group->key}};
    one.update(group_json(*group));
    out["groups"].push_back(std::move(one));
  }
  const FleetGroup total = total_of(summary);
  const Int128 wall = wall_of(total);
  for (const Bucket bucket : losses_of(total)) {
    const Int128 ns = total.device_ns[timeline::index(bucket)];
    out["losses"].push_back({{"bucket", fleet::bucket_word(bucket)},
                             {"label", fleet::bucket_label(bucket)},
                             {"device_hours", hours(ns)},
                             {"share_pct", percent(ns, wall)},
                             {"advice", fleet::bucket_advice(bucket)}});
  }
  for (const FleetNote& note : summary.notes) {
    out["notes"].push_back(
        {{"job", note.job}, {"lost", note.lost}, {"file", note.file}, {"reason", note.reason}});
  }
  return out;
}

}  // namespace headway::cli
