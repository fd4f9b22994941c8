#include "cli/fleet_job.h"

#include <utility>

#include "base/check.h"
#include "base/job_path.h"
#include "failure/redact.h"
#include "fleet/facts_of.h"
#include "interchange/job_input.h"
#include "timeline/job.h"

namespace headway::cli {
namespace {

using base::Result;

// A job's own folder is named by root and job, so that the loader knows whose it is.
Result<event::JobStreams> load(const std::string& folder) {
  const std::size_t slash = folder.find_last_of('/');
  const std::string name = slash == std::string::npos ? "" : folder.substr(slash + 1);
  if (!base::is_job_name(name)) return interchange::load_job(folder + "/.", {});
  return interchange::load_job(
      name, {.root = slash == 0 ? "/" : folder.substr(0, slash), .job = "", .skip_bad = false});
}

// The loader's notes are lines for a person; most begin with the file.
FolderNote note_of(const std::string& text, const std::string& folder) {
  const std::size_t end = text.find(": ");
  if (end == std::string::npos || !text.starts_with(folder)) {
    return {FolderNote::Lost::file, folder, text};
  }
  return {FolderNote::Lost::file, text.substr(0, end), text.substr(end + 2)};
}

}  // namespace

std::string_view lost_name(FolderNote::Lost lost) {
  switch (lost) {
    case FolderNote::Lost::job:
      return "job";
    case FolderNote::Lost::file:
      return "file";
    case FolderNote::Lost::records:
      return "records";
  }
  HW_CHECK(false);
}

Result<FolderFacts> facts_of_folder(const std::string& folder) {
  auto streams = load(folder);
  if (!streams.ok()) return streams.status();
  const timeline::JobResult job = timeline::attribute_job(*streams, {});
  FolderFacts out{
      .job = streams->job, .attempts = fleet::facts_of(job, *streams->names), .notes = {}};
  for (fleet::AttemptFacts& facts : out.attempts) {
    for (std::string& text : facts.dimensions) text = failure::redact_line(text);
  }
  for (const std::string& text : streams->notes) out.notes.push_back(note_of(text, folder));
  for (const timeline::AttemptResult& attempt : job.attempts) {
    for (const timeline::StreamReport& stream : attempt.streams) {
      if (stream.loss.note.empty()) continue;
      out.notes.push_back({FolderNote::Lost::records, stream.info.origin,
                           note_of(stream.loss.note, folder).reason});
    }
  }
  return out;
}

}  // namespace headway::cli
