// headway cache ls: what an archive holds and what it is bound to.
#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "cache/diff.h"
#include "cache/shelf.h"
#include "cli/cache.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Status;
using cache::Archive;
using cache::Entry;

constexpr int kDepthMax = 8;  // of folders; a shelf has two

struct Options {
  std::vector<std::string> archives;
  bool entries = false;
  bool json = false;
};

void add_fact(Page& page, std::string_view name, const std::string& value) {
  constexpr int column = 14;
  if (value.empty()) return;
  page.add_broken(Line().add("  ").add(name, Ink::dim).to(column).add(clean(value, page.style())),
                  column);
}

void add_kinds(Page& page, const cache::Index& index) {
  constexpr int entries_end = 26, bytes_end = 40;
  page.add(Line()
               .add("  kind", Ink::dim)
               .right("entries", entries_end, Ink::dim)
               .right("size", bytes_end, Ink::dim));
  const cache::KindSums sums = cache::sums_of(index);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].entries == 0) continue;
    page.add(Line()
                 .add("  ")
                 .add(cache::name_of(cache::all_kinds[i]))
                 .right(human_count(sums[i].entries), entries_end)
                 .right(human_bytes(sums[i].bytes), bytes_end));
  }
}

std::string to_text(const Archive& archive, bool entries) {
  const Style style = out_style();
  Page page(style);
  const cache::Index& index = archive.index();
  const cache::Binding& binding = archive.binding();
  page.add_whole(Line()
                     .add(clean(archive.path(), style), Ink::strong)
                     .add(fmt::format(" {} {} {} {} in {} {} ", page.dot(),
                                      plural(index.entries.size(), "entry", "entries"), page.dot(),
                                      human_bytes(index.entry_bytes()),
                                      human_bytes(archive.file_bytes()), page.dot()))
                     .add(signer_text(archive.front()),
                          archive.front().signer ? Ink::effective : Ink::wasted));
  add_fact(page, "packed", human_instant(binding.created_ns, style));
  add_fact(page, "family", binding.family);
  add_fact(page, "torch", binding.torch + " " + binding.torch_git.substr(0, 12));
  add_fact(page, "python", binding.python);
  add_fact(page, "environment", binding.environment);
  add_fact(page, "machine", fmt::format("{}: {}", binding.arch, fmt::join(binding.cpu_flags, " ")));
  add_fact(page, "gpu", binding.gpu);
  add_kinds(page, index);
  if (!entries) return page.text();
  for (const Entry& entry : index.entries) {
    page.add_whole(Line()
                       .add("  ")
                       .right(human_bytes(index.contents[entry.content].bytes), 12)
                       .add("  ")
                       .add(clean(entry.path, style)));
  }
  return page.text();
}

Json describe(const Archive& archive, bool entries) {
  const cache::Index& index = archive.index();
  Json kinds = Json::object();
  const cache::KindSums sums = cache::sums_of(index);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].entries == 0) continue;
    kinds[std::string(cache::name_of(cache::all_kinds[i]))] = {{"entries", sums[i].entries},
                                                               {"bytes", sums[i].bytes}};
  }
  Json json = {
      {"path", archive.path()},
      {"file_bytes", archive.file_bytes()},
      {"raw_bytes", index.entry_bytes()},
      {"contents", index.contents.size()},
      {"blocks", index.blocks.size()},
      {"content", base::hex(cache::content_identity(index))},
      {"signer", archive.front().signer ? Json(base::hex(*archive.front().signer)) : Json()},
      {"binding", to_json(archive.binding())},
      {"binding_id", base::hex(cache::identity_of(archive.binding()))},
      {"kinds", kinds}};
  if (!entries) return json;
  json["entries"] = Json::array();
  for (const Entry& entry : index.entries) {
    json["entries"].push_back({{"path", entry.path},
                               {"kind", cache::name_of(entry.kind)},
                               {"bytes", index.contents[entry.content].bytes},
                               {"executable", entry.executable},
                               {"time_ns", entry.time_ns},
                               {"sha256", base::hex(index.contents[entry.content].sha256)}});
  }
  return json;
}

// Of a folder, where jobs share archives, all that are in it.
Status add_archives(const std::string& path, std::vector<std::string>& out) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    out.push_back(path);
    return {};
  }
  auto files = base::list_files(path, cache::archive_suffix, kDepthMax, cache::shelf_archives_max);
  if (!files.ok()) return files.status();
  if (files->empty()) {
    return Status::not_found(
        fmt::format("{}: no archives are in this folder (*{})", path, cache::archive_suffix));
  }
  out.insert(out.end(), files->begin(), files->end());
  return {};
}

int execute(const Options& options) {
  std::vector<std::string> paths;
  for (const std::string& path : options.archives) {
    if (Status status = add_archives(path, paths); !status.ok()) return fail_cleanly(status);
  }
  Json list = Json::array();
  std::string text;
  int failed = 0;  // one that is damaged does not hide the others of its folder
  for (const std::string& path : paths) {
    auto archives = open_archives({path});
    if (!archives.ok()) {
      failed = fail_cleanly(archives.status());
    } else if (options.json) {
      list.push_back(describe(*archives->front(), options.entries));
    } else {
      text += to_text(*archives->front(), options.entries);
    }
  }
  if (failed != 0 && list.empty() && text.empty()) return failed;
  const int printed = options.json ? print_json({{"archives", list}}) : print_out(text);
  return printed != 0 ? printed : failed;
}

}  // namespace

void add_cache_ls(Verb& cache, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = cache.add_verb("ls", "What archives hold, and what they are bound to");
  verb->add_option("archive", options->archives,
                   "Archives, or folders of them: where jobs share them")
      ->required()
      ->type_name("X.hwc|DIR");
  verb->add_flag("--entries", options->entries, "Each entry, too");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Examples:\n"
      "  headway cache ls warm.hwc --entries\n"
      "  headway cache ls /shared/caches");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
