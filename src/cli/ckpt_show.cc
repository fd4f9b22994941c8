// headway ckpt show: what is in a checkpoint.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/job_path.h"
#include "checkpoint/anchor.h"
#include "checkpoint/diff.h"
#include "checkpoint/document.h"
#include "cli/ckpt.h"
#include "cli/ckpt_search.h"
#include "cli/human.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using checkpoint::CheckpointReader;
using checkpoint::Manifest;
using checkpoint::TensorInfo;

constexpr int kColumn = 12;
constexpr std::size_t kinds_shown_max = 12;  // of one group, without --all
constexpr std::size_t groups_shown_max = 12;

struct Options {
  std::string path;
  std::string tensor;
  bool all = false;
  bool json = false;
};

// Tensors whose names differ in numbers only, and that are of one type and shape: the layers.
struct Kind {
  std::string name;  // with * for the numbers; the tensor's own where there is one
  std::string kind;  // "F32 [4, 8]"
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};
struct Group {
  std::string prefix;  // up to the first dot
  std::uint64_t bytes = 0;
  std::size_t tensors = 0;
  std::vector<Kind> kinds;
};

std::string pattern_of(const std::string& name) {
  std::string out;
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    out += (begin == 0 ? "" : ".") + (number ? std::string("*") : part);
    begin = end + 1;
  }
  return out;
}

std::vector<Group> groups_of(const std::vector<TensorInfo>& tensors, bool all) {
  std::map<std::string, Group> groups;
  std::map<std::string, std::map<std::pair<std::string, std::string>, Kind>> kinds;
  for (const TensorInfo& info : tensors) {
    const std::string prefix = info.name.substr(0, info.name.find('.'));
    Group& group = groups[prefix];
    group.prefix = prefix;
    group.bytes += info.bytes;
    ++group.tensors;
    const std::string pattern = all ? info.name : pattern_of(info.name);
    Kind& kind = kinds[prefix][{pattern, checkpoint::kind_text(info)}];
    kind.name = kind.count == 0 ? info.name : pattern;
    kind.kind = checkpoint::kind_text(info);
    ++kind.count;
    kind.bytes += info.bytes;
  }
  std::vector<Group> out;
  for (auto& [prefix, group] : groups) {
    for (auto& [key, kind] : kinds[prefix]) group.kinds.push_back(std::move(kind));
    std::stable_sort(group.kinds.begin(), group.kinds.end(),
                     [](const Kind& a, const Kind& b) { return a.bytes > b.bytes; });
    out.push_back(std::move(group));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
  return out;
}

void add_facts(Page& page, const CheckpointReader& reader) {
  const Style& style = page.style();
  const Manifest& manifest = reader.manifest();
  const std::uint64_t bytes = total_bytes(manifest);
  const std::string dot = fmt::format(" {} ", page.dot());
  page.add_whole(Line()
                     .add(clean(checkpoint::last_name_of(reader.path()), style), Ink::strong)
                     .add(dot)
                     .add(fmt::format("step {}", human_count(manifest.step)))
                     .add(dot)
                     .add(fmt::format("{} rank{}", human_count(manifest.world_size),
                                      manifest.world_size == 1 ? "" : "s"))
                     .add(dot)
                     .add(fmt::format("{} in {} file{}", human_bytes(bytes),
                                      human_count(manifest.files.size()),
                                      manifest.files.size() == 1 ? "" : "s")));
  const auto row = [&](std::string_view label, const std::string& text) {
    page.add_whole(Line().add("  ").add(label, Ink::dim).to(kColumn).add(text));
  };
  const std::string age = age_text(manifest.time_ns, base::real_ns(), style);
  row("saved", human_instant(manifest.time_ns, style) + (age == "-" ? "" : ", " + age + " ago"));
  if (!manifest.job.empty()) {
    row("job", fmt::format("{}, attempt {}", clean(manifest.job, style),
                           attempt_text(manifest.attempt,
                                        manifest.attempt < base::kLaunchesPerAllocation)));
  }
  row("data", human_count(manifest.data));
  if (checkpoint::is_anchor(base::real_file_system(), reader.path())) {
    const std::string note = checkpoint::anchor_note(base::real_file_system(), reader.path());
    row("anchor", note.empty() ? "kept forever" : "kept forever: " + clean(note, style));
  }
  row("path", clean(reader.path(), style));
}

void add_group(Page& page, const Group& group, std::uint64_t total, bool all) {
  const Style& style = page.style();
  // name | kind | count | size
  const int size_end = style.width - 1, count_end = size_end - 12, name_begin = 4;
  int kind_columns = 0;
  const std::size_t shown =
      all ? group.kinds.size() : std::min(group.kinds.size(), kinds_shown_max);
  for (std::size_t i = 0; i < shown; ++i) {
    kind_columns = std::max(kind_columns, columns_of(group.kinds[i].kind));
  }
  const int kind_begin = std::max(name_begin + 12, count_end - 8 - kind_columns);
  Line head;
  head.add("  ").add(clean(group.prefix, style), Ink::strong);
  head.add(fmt::format("  {} tensor{}", human_count(group.tensors), group.tensors == 1 ? "" : "s"),
           Ink::dim);
  head.right(fmt::format("{:.1f}%", total > 0 ? 100.0 * static_cast<double>(group.bytes) /
                                                    static_cast<double>(total)
                                              : 0.0),
             count_end);
  head.right(human_bytes(group.bytes), size_end, Ink::strong);
  page.add(head);
  for (std::size_t i = 0; i < shown; ++i) {
    const Kind& kind = group.kinds[i];
    Line line;
    line.to(name_begin);
    std::string name = clean(kind.name, style);
    if (!all && columns_of(name) > kind_begin - name_begin - 2) {
      // The end of a name tells more than its middle.
      const int columns = kind_begin - name_begin - 3;
      while (columns_of(name) > columns) name.erase(0, 1);
      name = (style.unicode ? "…" : "~") + name;
    }
    line.add(name).to(kind_begin).add(kind.kind, Ink::dim);
    if (kind.count > 1) {
      line.right(fmt::format("{} {}", style.unicode ? "×" : "x", kind.count), count_end);
    }
    line.right(human_bytes(kind.bytes), size_end);
    if (all) {
      page.add_whole(line);
    } else {
      page.add(line);
    }
  }
  if (shown == group.kinds.size()) return;
  std::uint64_t rest = 0;
  for (std::size_t i = shown; i < group.kinds.size(); ++i) rest += group.kinds[i].bytes;
  page.add(Line()
               .to(name_begin)
               .add(fmt::format("and {} smaller kinds; --all shows every tensor",
                                group.kinds.size() - shown),
                    Ink::dim)
               .right(human_bytes(rest), size_end, Ink::dim));
}

std::string to_text(const CheckpointReader& reader, bool all) {
  Page page(out_style());
  add_facts(page, reader);
  std::uint64_t total = 0;
  for (const TensorInfo& info : reader.tensors()) total += info.bytes;
  page.blank();
  const std::vector<Group> groups = groups_of(reader.tensors(), all);
  const std::size_t shown = all ? groups.size() : std::min(groups.size(), groups_shown_max);
  for (std::size_t i = 0; i < shown; ++i) add_group(page, groups[i], total, all);
  if (shown < groups.size()) {
    page.add(
        fmt::format("  and {} smaller groups; --all shows every tensor", groups.size() - shown),
        Ink::dim);
  }
  page.add(Line()
               .add("  ")
               .add(fmt::format("{} tensors", human_count(reader.tensors().size())), Ink::dim)
               .right(human_bytes(total), page.style().width - 1, Ink::strong));
  for (const TensorInfo& info : reader.tensors()) {
    if (!checkpoint::is_document(info.name)) continue;
    page.blank();
    page.add(fmt::format("  values, learning rates and what else is no tensor: headway ckpt show "
                         "PATH {}",
                         info.name),
             Ink::dim);
    break;
  }
  return page.text();
}

Json to_json(const CheckpointReader& reader) {
  const Manifest& manifest = reader.manifest();
  Json json = {{"path", reader.path()},
               {"step", manifest.step},
               {"data", manifest.data},
               {"world_size", manifest.world_size},
               {"job", manifest.job},
               {"attempt", manifest.attempt},
               {"time_ns", manifest.time_ns},
               {"anchor", checkpoint::is_anchor(base::real_file_system(), reader.path())}};
  json["files"] = Json::array();
  for (const auto& file : manifest.files) {
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"rank", file.rank}});
  }
  json["tensors"] = Json::array();
  for (const TensorInfo& info : reader.tensors()) {
    json["tensors"].push_back({{"name", info.name},
                               {"dtype", checkpoint::name_of(info.dtype)},
                               {"shape", info.shape},
                               {"bytes", info.bytes},
                               {"pieces", info.pieces.size()}});
  }
  return json;
}

int execute(const Options& options) {
  const auto shown = use_checkpoint(options.path, [&](const std::string& path) -> Result<int> {
    auto reader = CheckpointReader::open(base::real_file_system(), path);
    if (!reader.ok()) return reader.status();
    if (!options.tensor.empty()) return show_tensor(**reader, options.tensor, options.json);
    return options.json ? print_json(to_json(**reader)) : print_out(to_text(**reader, options.all));
  });
  return shown.ok() ? shown.value() : fail_cleanly(shown.status());
}

}  // namespace

void add_ckpt_show(Verb& ckpt, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = ckpt.add_verb("show", "Say what is in a checkpoint, or in one tensor");
  verb->add_option("path", options->path, "Checkpoint, or folder of them")
      ->required()
      ->type_name("PATH");
  verb->add_option("tensor", options->tensor, "Its values and where its pieces lie")
      ->type_name("TENSOR");
  verb->add_flag("--all", options->all, "Every tensor, not layers of one kind as one line");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Examples:\n"
      "  headway ckpt show /data/ckpt\n"
      "  headway ckpt show /data/ckpt/LATEST model.embed.weight");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
