// headway cache diff: how two archives differ.
#include <fmt/format.h>

#include <algorithm>

#include "cache/diff.h"
#include "cli/cache.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using cache::ArchiveDifference;
using cache::Entry;

constexpr std::size_t rows_shown_max = 40;  // of each kind of difference

struct Options {
  std::string a, b;
  bool json = false;
};

void add_entries(Page& page, const std::string& title, const std::vector<const Entry*>& entries,
                 const cache::Index& index) {
  if (entries.empty()) return;
  std::uint64_t bytes = 0;
  for (const Entry* entry : entries) bytes += index.contents[entry->content].bytes;
  page.add(fmt::format("  {}: {}, {}", title, plural(entries.size(), "entry", "entries"),
                       human_bytes(bytes)),
           Ink::dim);
  for (std::size_t i = 0; i < std::min(entries.size(), rows_shown_max); ++i) {
    page.add_whole(Line()
                       .add("    ")
                       .add(cache::name_of(entries[i]->kind))
                       .to(18)
                       .right(human_bytes(index.contents[entries[i]->content].bytes), 30)
                       .add("  ")
                       .add(clean(entries[i]->path, page.style())));
  }
  if (entries.size() > rows_shown_max) {
    page.add(fmt::format("    and {} more; --json has all",
                         human_count(entries.size() - rows_shown_max)),
             Ink::dim);
  }
}

Json list_of(const std::vector<const Entry*>& entries, const cache::Index& index) {
  Json list = Json::array();
  for (const Entry* entry : entries) {
    list.push_back({{"path", entry->path},
                    {"kind", cache::name_of(entry->kind)},
                    {"bytes", index.contents[entry->content].bytes}});
  }
  return list;
}

int execute(const Options& options) {
  auto archives = open_archives({options.a, options.b});
  if (!archives.ok()) return fail_cleanly(archives.status());
  const cache::Index& a = (*archives)[0]->index();
  const cache::Index& b = (*archives)[1]->index();
  const ArchiveDifference found = cache::difference(a, b);
  const std::string binding =
      cache::difference((*archives)[0]->binding(), (*archives)[1]->binding());
  std::vector<const Entry*> others;
  for (const auto& [left, right] : found.others) others.push_back(right);
  const bool equal =
      found.only_a.empty() && found.only_b.empty() && others.empty() && binding.empty();
  if (options.json) {
    const int code = print_json({{"a", options.a},
                                 {"b", options.b},
                                 {"equal", equal},
                                 {"same", found.same},
                                 {"binding", binding},
                                 {"only_a", list_of(found.only_a, a)},
                                 {"only_b", list_of(found.only_b, b)},
                                 {"others", list_of(others, b)}});
    return code != kExitOk || equal ? code : kExitCheckFailed;
  }
  Page page(out_style());
  page.add(equal ? "the same: " + plural(found.same, "entry", "entries")
                 : plural(found.same, "entry is", "entries are") + " the same",
           equal ? Ink::effective : Ink::plain);
  if (!binding.empty()) page.add("  bound to different things: " + clean(binding, page.style()));
  add_entries(page, "only in a", found.only_a, a);
  add_entries(page, "only in b", found.only_b, b);
  add_entries(page, "another content in b", others, b);
  const int code = print_out(page.text());
  return code != kExitOk || equal ? code : kExitCheckFailed;
}

}  // namespace

void add_cache_diff(Verb& cache, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = cache.add_verb("diff", "What is in one archive and not in the other");
  verb->add_option("a", options->a, "An archive")->required()->type_name("A.hwc");
  verb->add_option("b", options->b, "Another one")->required()->type_name("B.hwc");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Exit code 1 where they differ.\n"
      "Example:\n"
      "  headway cache diff yesterday.hwc today.hwc");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
