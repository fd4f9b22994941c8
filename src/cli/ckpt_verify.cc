// headway ckpt verify: reads every byte and compares.
#include <fmt/format.h>

#include <limits>

#include "checkpoint/verify.h"
#include "cli/ckpt.h"
#include "cli/ckpt_remote.h"
#include "cli/ckpt_search.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using checkpoint::Damage;
using checkpoint::Look;
using checkpoint::VerifyReport;

struct Options {
  std::string path;
  bool json = false;
};

// A folder that has a checkpoint's name, which comes with the manifest, and none: damage.
bool lacks_manifest(const std::string& path) {
  base::FileSystem& files = base::real_file_system();
  return checkpoint::CheckpointName::parse(checkpoint::last_name_of(path)) &&
         files.list(path).ok() && !checkpoint::is_checkpoint(files, path);
}

// What a path means here: one checkpoint, or all of a folder.
Result<std::vector<Look>> checkpoints_at(const std::string& given) {
  if (is_remote(given)) {
    auto looks = look_remote(given, std::numeric_limits<std::size_t>::max());
    if (!looks.ok()) return looks.status();
    // In a store they are on their way up, as drafts are in a folder.
    std::erase_if(*looks, [](const Look& look) { return look.unfinished; });
    if (!looks->empty()) return looks;
    return Status::not_found(given + ": no checkpoint is in it");
  }
  if (Status status = check_local(given); !status.ok()) return status;
  base::FileSystem& files = base::real_file_system();
  const std::string path = checkpoint::without_last_slash(given);
  if (checkpoint::last_name_of(path) == checkpoint::latest_name ||
      checkpoint::is_checkpoint(files, path) || lacks_manifest(path)) {
    auto found = lacks_manifest(path) ? Result<std::string>(path) : CheckpointSearch(path).next();
    if (!found.ok()) return found.status();
    Look look;
    look.path = *found;
    return std::vector{std::move(look)};
  }
  auto looks = checkpoint::look_at_all(files, path);
  if (!looks.ok() || !looks->empty()) return looks;
  return Status::not_found(
      fmt::format("{}: neither a checkpoint (it has no {}) nor a folder of checkpoints", path,
                  checkpoint::manifest_name));
}

Result<VerifyReport> verify_one(const Look& look) {
  return is_remote(look.path) ? verify_remote(look) : verify_local(look.path);
}

void add_unfinished(Page& page, const std::string& path) {
  page.add_whole(Line()
                     .add(clean(path, page.style()), Ink::strong)
                     .add(fmt::format(" {} ", page.dot()))
                     .add("unfinished", Ink::down)
                     .add(fmt::format(" {} {}", page.dot(), unfinished_advice)));
}

void add_text(Page& page, const std::string& path, const VerifyReport& report) {
  const Style& style = page.style();
  Line line;
  line.add(clean(path, style), Ink::strong).add(fmt::format(" {} ", page.dot()));
  if (report.good()) {
    line.add("good", Ink::effective);
    line.add(fmt::format(" {} {} in {} file{}", page.dot(), human_bytes(report.bytes),
                         human_count(report.files), report.files == 1 ? "" : "s"));
    if (!is_remote(path)) line.add(fmt::format(", {} tensors", human_count(report.tensors)));
  } else {
    line.add("damaged", Ink::down);
  }
  page.add_whole(line);
  for (const Damage& damage : report.damages) {
    page.add_whole(Line().add("  ").add(clean(without_prefix(damage.text, path), style)));
  }
  if (report.more_damages > 0) {
    page.add(fmt::format("  and {} more", human_count(report.more_damages)));
  }
}

Json to_json(const std::string& path, const VerifyReport& report) {
  Json json = {{"path", path},
               {"good", report.good()},
               {"files", report.files},
               {"bytes", report.bytes},
               {"tensors", report.tensors},
               {"damages", Json::array()},
               {"more_damages", report.more_damages}};
  for (const Damage& damage : report.damages) {
    Json each = {{"file", damage.file}, {"what", damage.text}};
    if (damage.chunk) {
      each["chunk"] = *damage.chunk;
      each["begin"] = *damage.begin;
      each["end"] = *damage.end;
    }
    json["damages"].push_back(each);
  }
  return json;
}

// Told one by one: the next may take long.
class Tell {
 public:
  explicit Tell(bool json) : json_(json) {}
  int of(const std::string& path, const VerifyReport& report) {
    good_ &= report.good();
    if (json_) {
      list_.push_back(to_json(path, report));
      return kExitOk;
    }
    Page page(style_);
    add_text(page, path, report);
    return print_out(page.text());
  }
  int of_unfinished(const std::string& path) {
    good_ = false;
    VerifyReport report;
    report.damages.push_back({std::string(checkpoint::manifest_name),
                              fmt::format("{}: {}", path, unfinished_advice),
                              {},
                              {},
                              {}});
    if (json_) {
      list_.push_back(to_json(path, report));
      list_.back()["unfinished"] = true;
      return kExitOk;
    }
    Page page(style_);
    add_unfinished(page, path);
    return print_out(page.text());
  }
  int end() {
    const int code = json_ ? print_json({{"good", good_}, {"checkpoints", list_}}) : kExitOk;
    return code == kExitOk && !good_ ? kExitCheckFailed : code;
  }

 private:
  const bool json_;
  const Style style_ = out_style();
  bool good_ = true;
  Json list_ = Json::array();
};

int execute(const Options& options) {
  auto looks = checkpoints_at(options.path);
  if (!looks.ok()) return fail_cleanly(looks.status());
  Tell tell(options.json);
  // Last: where a job removes one just now, it is gone by then.
  std::vector<std::string> unfinished;
  for (const Look& look : *looks) {
    if (look.unfinished) {
      unfinished.push_back(look.path);
      continue;
    }
    auto report = verify_one(look);
    if (!report.ok() && lacks_manifest(look.path)) {
      unfinished.push_back(look.path);
      continue;
    }
    if (!report.ok()) return fail_cleanly(report.status());
    if (const int code = tell.of(look.path, *report); code != kExitOk) return code;
  }
  for (const std::string& path : unfinished) {
    if (!lacks_manifest(path)) continue;
    if (const int code = tell.of_unfinished(path); code != kExitOk) return code;
  }
  return tell.end();
}

}  // namespace

void add_ckpt_verify(Verb& ckpt, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = ckpt.add_verb("verify", "Read every byte and compare with the checksums");
  verb->add_option("path", options->path,
                   "Checkpoint, or folder of them (or s3://bucket/prefix): then all")
      ->required()
      ->type_name("PATH|FOLDER");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Exit code 1 where something is damaged.\n"
      "Examples:\n"
      "  headway ckpt verify /data/ckpt\n"
      "  headway ckpt verify /data/ckpt/LATEST && start-training");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
