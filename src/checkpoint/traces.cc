#include "checkpoint/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "checkpoint/look.h"

namespace headway::checkpoint {
namespace {

using base::FileSystem;
using base::FolderEntry;
using base::Result;
using base::Status;

// With nothing in it there is nothing to lose.
bool has_files(FileSystem& files, const std::string& path) {
  const auto entries = files.list(path);
  return entries.ok() && !entries.value().empty();
}

std::optional<CheckpointName> named_by_latest(FileSystem& files, const std::string& folder) {
  std::vector<std::string> passed;
  const auto path = find_checkpoint(files, fmt::format("{}/{}", folder, latest_name), passed);
  return path.ok() ? CheckpointName::parse(last_name_of(path.value())) : std::nullopt;
}

bool is_there(FileSystem& files, const std::string& folder, const CheckpointName& name) {
  const auto entries = files.list(folder);
  return !entries.ok() ||
         std::any_of(entries.value().begin(), entries.value().end(),
                     [&](const FolderEntry& entry) { return entry.name == name.text(); });
}

// Somebody may commit and remove while we look: LATEST has to say the same after it.
std::optional<CheckpointName> gone_by_latest(FileSystem& files, const std::string& folder) {
  const auto named = named_by_latest(files, folder);
  if (!named || is_there(files, folder, *named)) return std::nullopt;
  const auto again = named_by_latest(files, folder);
  return again && again->text() == named->text() ? named : std::nullopt;
}

}  // namespace

Result<std::vector<Trace>> find_traces(FileSystem& files, const std::string& folder) {
  std::vector<Trace> traces;
  const auto entries = files.list(folder);
  if (!entries.ok()) {
    if (entries.status().code() == base::Code::not_found) return traces;
    return entries.status();
  }
  for (const FolderEntry& entry : entries.value()) {
    const auto name = CheckpointName::parse(entry.name);
    if (!name) continue;
    const std::string path = folder + "/" + entry.name;
    if (!entry.is_folder) {
      traces.push_back({*name, path + ": a file where a checkpoint's folder should be; bring that "
                                      "back, or remove the file to give it up"});
    } else if (!is_checkpoint(files, path) && has_files(files, path)) {
      traces.push_back(
          {*name, fmt::format("{}: holds files and no {}; bring that back, or remove the folder to "
                              "give it up",
                              path, manifest_name)});
    }
  }
  if (const auto gone = gone_by_latest(files, folder)) {
    traces.push_back(
        {*gone, fmt::format("{}/{}: names {}, which is gone; bring that back, or remove {} to give "
                            "it up",
                            folder, latest_name, gone->text(), latest_name)});
  }
  std::sort(traces.begin(), traces.end(), [](const Trace& a, const Trace& b) {
    return std::pair(a.name.sequence, a.name.step) > std::pair(b.name.sequence, b.name.step);
  });
  return traces;
}

}  // namespace headway::checkpoint
