// headway ckpt diff: how two checkpoints differ.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/job_path.h"
#include "checkpoint/diff.h"
#include "checkpoint/document.h"
#include "checkpoint/restore.h"
#include "cli/ckpt.h"
#include "cli/ckpt_search.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using checkpoint::CheckpointDiff;
using checkpoint::CheckpointReader;
using checkpoint::ValueDifference;

constexpr std::size_t rows_shown_max = 40;  // of each kind of difference
constexpr std::size_t document_value_max = 60;
constexpr std::size_t encoded_shown_max = 24;  // of bytes in base64: nobody reads more
constexpr std::size_t parts_named_max = 12;
constexpr std::string_view random_part = "random numbers";

struct Options {
  std::string a, b;
  std::string only;
  bool json = false;
};

std::string fact_text(const checkpoint::FactDifference& fact, const std::string& value,
                      const Style& style) {
  if (fact.name == "attempt") {
    const bool one_run =
        std::max(std::stoull(fact.a), std::stoull(fact.b)) < base::kLaunchesPerAllocation;
    return attempt_text(std::stoull(value), one_run);
  }
  if (fact.name != "time_ns") return clean(value, style);
  return human_instant(std::stoll(value), style);  // our own digits, of an int64
}

// "model" of "model.embed.weight". What ranks have of their own, and where a loader's random
// numbers stood, goes by what it is.
std::string part_of(std::string_view name) {
  constexpr std::string_view own = "rank-";
  const std::size_t dot = name.find('.');
  if (name.starts_with(own) && dot != std::string_view::npos) name.remove_prefix(dot + 1);
  const std::string part(name.substr(0, name.find('.')));
  const auto holds = [&](std::string_view piece) {
    return name.find(piece) != std::string_view::npos;
  };
  const bool of_loader = part == "loader" && (holds(".process.") || holds(".generators."));
  return part == "rng" || of_loader ? std::string(random_part) : part;
}

struct PartDifference {
  std::size_t tensors = 0;
  std::set<std::string> values;  // that are no tensors
};
struct Parts {
  std::map<std::string, PartDifference> differ;
  std::set<std::string> equal;
  [[nodiscard]] bool only_random() const {
    return differ.size() == 1 && differ.begin()->first == random_part;
  }
};

Parts parts_of(const CheckpointDiff& diff, const CheckpointReader& a, const std::string& only) {
  Parts out;
  for (const auto& name : diff.only_a) ++out.differ[part_of(name)].tensors;
  for (const auto& name : diff.only_b) ++out.differ[part_of(name)].tensors;
  for (const auto& kind : diff.kinds) ++out.differ[part_of(kind.name)].tensors;
  for (const auto& value : diff.values) ++out.differ[part_of(value.name)].tensors;
  for (const auto& [tensor, each] : diff.documents) {
    out.differ[part_of(each.name)].values.insert(tensor + each.name);
  }
  const auto add_equal = [&](const std::string& name) {
    const std::string part = part_of(name);
    if (!out.differ.contains(part)) out.equal.insert(part);
  };
  for (const auto& info : a.tensors()) {
    if (info.name.starts_with(only) && !checkpoint::is_document(info.name)) add_equal(info.name);
  }
  for (const std::string& part : diff.document_parts) add_equal(part);
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), parts_named_max);
  std::string out = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (shown < names.size()) out += fmt::format(" and {} more", human_count(names.size() - shown));
  return out;
}

void add_parts(Page& page, const Parts& parts) {
  const auto row = [&](std::string_view label, const std::vector<std::string>& names, Ink ink) {
    if (names.empty()) return;
    page.add_broken(Line().add("  ").add(label, Ink::dim).to(15).add(joined(names), ink), 15);
  };
  std::vector<std::string> differ, equal;
  for (const auto& [part, found] : parts.differ) {
    std::vector<std::string> what;
    if (found.tensors > 0) what.push_back(plural(found.tensors, "tensor"));
    if (!found.values.empty()) what.push_back(plural(found.values.size(), "value"));
    differ.push_back(fmt::format("{} ({})", clean(part, page.style()), fmt::join(what, ", ")));
  }
  for (const std::string& part : parts.equal) equal.push_back(clean(part, page.style()));
  row("differ", differ, Ink::down);
  row("equal", equal, Ink::effective);
}

// Some of `rows`, and how many are not shown.
template <typename T>
std::size_t shown_of(const std::vector<T>& rows) {
  return std::min(rows.size(), rows_shown_max);
}
template <typename T>
void add_rest(Page& page, const std::vector<T>& rows) {
  if (rows.size() <= rows_shown_max) return;
  page.add(
      fmt::format("    and {} more; --json has all", human_count(rows.size() - rows_shown_max)),
      Ink::dim);
}

void add_only(Page& page, const char* letter, const std::vector<std::string>& names) {
  if (names.empty()) return;
  page.add(fmt::format("  only in {}", letter), Ink::dim);
  for (std::size_t i = 0; i < shown_of(names); ++i) {
    page.add_whole(Line().add("    ").add(clean(names[i], page.style()), Ink::wasted));
  }
  add_rest(page, names);
}

void add_values(Page& page, const CheckpointDiff& diff) {
  if (diff.values.empty()) return;
  const Style& style = page.style();
  std::vector<const ValueDifference*> order;
  for (const ValueDifference& each : diff.values) order.push_back(&each);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->difference.max_abs > b->difference.max_abs;
  });
  int names = 0;
  for (std::size_t i = 0; i < shown_of(order); ++i) {
    names = std::max(names, columns_of(clean(order[i]->name, style)));
  }
  names = std::min(names, std::max(20, style.width - 60));
  page.add(Line()
               .add("  other values", Ink::dim)
               .right("differ", names + 6 + 22, Ink::dim)
               .right("largest by", names + 6 + 36, Ink::dim)
               .to(names + 6 + 38)
               .add("first at", Ink::dim));
  for (std::size_t i = 0; i < shown_of(order); ++i) {
    const ValueDifference& each = *order[i];
    const auto& d = each.difference;
    Line line;
    line.add("    ").add(clean(each.name, style));
    line.right(fmt::format("{} of {}", human_count(d.elements), human_count(each.elements)),
               names + 6 + 22);
    line.right(fmt::format("{:.3g}", d.max_abs), names + 6 + 36, Ink::strong);
    line.to(names + 6 + 38).add(shape_text(each.first));
    if (d.not_finite > 0) {
      line.add(fmt::format("  {} nan or inf", human_count(d.not_finite)), Ink::down);
    }
    page.add_whole(line);
  }
  add_rest(page, order);
}

// Of a text in base64, with its quotes.
std::string bytes_text(const std::string& json) {
  const std::size_t digits = json.size() - 2;
  const std::size_t padding = json.ends_with("==\"") ? 2 : json.ends_with("=\"") ? 1 : 0;
  return plural(digits / 4 * 3 - padding, "byte");
}

// What is no tensor: learning rates, counters, places in the data.
void add_documents(Page& page, const CheckpointDiff& diff) {
  if (diff.documents.empty()) return;
  const Style& style = page.style();
  const auto shorten = [&](const std::string& json, bool encoded) {
    if (json.empty()) return std::string(style.unicode ? "–" : "-");
    if (encoded && json.size() > encoded_shown_max) return bytes_text(json);
    const std::string text = clean(json, style);
    return text.size() <= document_value_max ? text : text.substr(0, document_value_max) + "...";
  };
  std::string of;
  for (std::size_t i = 0; i < shown_of(diff.documents); ++i) {
    const auto& [name, each] = diff.documents[i];
    if (name != of) page.add("  other values in " + clean(name, style), Ink::dim);
    of = name;
    const bool encoded = each.name.ends_with(".$bytes") || each.name.ends_with(".$bytearray");
    const std::string a = shorten(each.a, encoded), b = shorten(each.b, encoded);
    Line line;
    line.add("    ").add(
        clean(each.name.substr(0, encoded ? each.name.rfind('.') : each.name.npos), style));
    line.add("  ").add(a).add(fmt::format(" {} ", page.arrow()), Ink::dim);
    page.add_whole(line.add(encoded && a == b ? "as many others" : b, Ink::strong));
  }
  add_rest(page, diff.documents);
}

std::string to_text(const CheckpointDiff& diff, const CheckpointReader& a,
                    const CheckpointReader& b, const Parts& parts) {
  const Style style = out_style();
  Page page(style);
  page.add_whole(Line().add("a  ", Ink::dim).add(clean(a.path(), style), Ink::strong));
  page.add_whole(Line().add("b  ", Ink::dim).add(clean(b.path(), style), Ink::strong));
  for (const auto& fact : diff.facts) {
    page.add_whole(Line()
                       .add("  ")
                       .add(fact.name == "time_ns" ? "saved" : fact.name, Ink::dim)
                       .to(15)
                       .add(fact_text(fact, fact.a, style))
                       .add(fmt::format(" {} ", page.arrow()), Ink::dim)
                       .add(fact_text(fact, fact.b, style)));
  }
  add_parts(page, parts);
  add_only(page, "a", diff.only_a);
  add_only(page, "b", diff.only_b);
  if (!diff.kinds.empty()) page.add("  other type or shape", Ink::dim);
  for (std::size_t i = 0; i < shown_of(diff.kinds); ++i) {
    const auto& kind = diff.kinds[i];
    page.add_whole(Line()
                       .add("    ")
                       .add(clean(kind.name, style))
                       .add("  ")
                       .add(kind.a)
                       .add(fmt::format(" {} ", page.arrow()), Ink::dim)
                       .add(kind.b, Ink::wasted));
  }
  add_rest(page, diff.kinds);
  add_values(page, diff);
  add_documents(page, diff);
  std::set<std::string_view> others;
  for (const auto& [name, each] : diff.documents) others.insert(name);
  const std::size_t other = diff.values.size() + diff.kinds.size() + others.size();
  Line sum;
  sum.add("  ").add(fmt::format("{} tensors equal to the last bit", human_count(diff.same)),
                    diff.same_tensors() ? Ink::effective : Ink::plain);
  if (other > 0) sum.add(fmt::format(", {} not", human_count(other)), Ink::down);
  if (!diff.only_a.empty() || !diff.only_b.empty()) {
    sum.add(fmt::format(", {} only in one", human_count(diff.only_a.size() + diff.only_b.size())));
  }
  page.add(sum);
  if (parts.only_random()) {
    page.add_broken(
        Line()
            .add("  Only random numbers differ: they were not seeded alike. ")
            .add(parts.equal.contains("model") ? "--only model. compares the weights." : ""),
        2);
  }
  return page.text();
}

Json to_json(const CheckpointDiff& diff, const CheckpointReader& a, const CheckpointReader& b,
             const Parts& parts) {
  Json json = {
      {"a", a.path()},         {"b", b.path()},           {"same_tensors", diff.same_tensors()},
      {"same", diff.same},     {"facts", Json::object()}, {"only_a", diff.only_a},
      {"only_b", diff.only_b}, {"kinds", Json::array()},  {"values", Json::array()}};
  json["parts"] = {{"differ", Json::array()}, {"equal", parts.equal}};
  for (const auto& [part, found] : parts.differ) json["parts"]["differ"].push_back(part);
  for (const auto& fact : diff.facts) json["facts"][fact.name] = {{"a", fact.a}, {"b", fact.b}};
  for (const auto& kind : diff.kinds) {
    json["kinds"].push_back({{"name", kind.name}, {"a", kind.a}, {"b", kind.b}});
  }
  json["documents"] = Json::array();
  for (const auto& [name, each] : diff.documents) {
    json["documents"].push_back(
        {{"tensor", name}, {"name", each.name}, {"a", each.a}, {"b", each.b}});
  }
  for (const ValueDifference& each : diff.values) {
    json["values"].push_back({{"name", each.name},
                              {"dtype", checkpoint::name_of(each.dtype)},
                              {"shape", each.shape},
                              {"elements", each.elements},
                              {"differing", each.difference.elements},
                              {"not_finite", each.difference.not_finite},
                              {"max_abs", each.difference.max_abs},
                              {"first", each.first}});
  }
  return json;
}

base::Result<CheckpointDiff> compare(const CheckpointReader& a, const CheckpointReader& b,
                                     const std::string& only) {
  ProgressBar progress("diff", checkpoint::restored_bytes(a, only));
  return checkpoint::diff_checkpoints(a, b, only, progress.callback());
}

int execute(const Options& options) {
  CheckpointSearch search_a(options.a), search_b(options.b);
  auto a = open_checkpoint(search_a);
  if (!a.ok()) return fail_cleanly(a.status());
  auto b = open_checkpoint(search_b);
  if (!b.ok()) return fail_cleanly(b.status());
  for (;;) {
    const auto diff = compare(**a, **b, options.only);
    if (diff.ok()) {
      search_a.tell();
      search_b.tell();
      const Parts parts = parts_of(diff.value(), **a, options.only);
      const int code = options.json ? print_json(to_json(diff.value(), **a, **b, parts))
                                    : print_out(to_text(diff.value(), **a, **b, parts));
      if (code != kExitOk) return code;
      return diff.value().same_tensors() ? kExitOk : kExitCheckFailed;
    }
    // Whose bytes they were: messages begin with the path.
    const bool of_a = diff.status().message().starts_with((*a)->path() + "/");
    CheckpointSearch& search = of_a ? search_a : search_b;
    if (!search.passes_over(diff.status())) return fail_cleanly(diff.status());
    auto next = open_checkpoint(search);
    if (!next.ok()) return fail_cleanly(next.status());
    (of_a ? a : b) = std::move(next);
  }
}

}  // namespace

void add_ckpt_diff(Verb& ckpt, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = ckpt.add_verb("diff", "Compare two checkpoints, tensor by tensor");
  verb->add_option("a", options->a, "One")->required()->type_name("A");
  verb->add_option("b", options->b, "The other")->required()->type_name("B");
  verb->add_option("--only", options->only, "Only tensors whose name begins so")
      ->type_name("PREFIX");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "However many ranks saved them. Exit code 1 where anything but step, time and the like "
      "differs.\n"
      "Example:\n"
      "  headway ckpt diff /data/ckpt/step-00000100-000001 /data/ckpt/LATEST --only model.");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
