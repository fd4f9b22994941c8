#include "interchange/jsonl.h"

#include <fmt/format.h>

#include "interchange/line_reader.h"

namespace headway::interchange {

base::Status JsonlInput::read(const std::string& path, StreamBuilder& builder) {
  auto reader = LineReader::open(path);
  if (!reader.ok()) return reader.status();
  std::string_view text;
  Line line;
  while (reader->next(text)) {
    if (text.find_first_not_of(" \t") == std::string_view::npos) continue;
    base::Status status = parser_.parse(text, line);
    if (status.ok()) {
      status = builder.add(line, reader->name());
      if (status.ok()) continue;
      return base::Status(status.code(), fmt::format("{}: {}", reader->name(), status.message()));
    }
    std::string message =
        fmt::format("{}:{}: {}", reader->name(), reader->number(), status.message());
    if (!options_.skip_bad) {
      return base::Status(status.code(), message + " (--skip-bad leaves such lines out)");
    }
    ++bad_lines_;
    if (bad_notes_.size() < kBadNotesMax) bad_notes_.push_back(std::move(message));
  }
  return reader->status();
}

}  // namespace headway::interchange
