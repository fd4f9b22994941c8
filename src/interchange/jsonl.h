// Reads files of JSON lines into a StreamBuilder, with messages that name file and line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "interchange/line.h"
#include "interchange/stream_builder.h"

namespace headway::interchange {

struct ReadOptions {
  bool skip_bad = false;  // count lines that do not parse instead of failing
};

inline constexpr std::size_t kBadNotesMax = 5;  // messages kept of lines that were skipped

class JsonlInput {
 public:
  explicit JsonlInput(ReadOptions options) : options_(options) {}

  // `path` "-" is standard input. Blank lines are passed over.
  base::Status read(const std::string& path, StreamBuilder& builder);

  [[nodiscard]] std::uint64_t bad_lines() const { return bad_lines_; }
  [[nodiscard]] const std::vector<std::string>& bad_notes() const { return bad_notes_; }
  [[nodiscard]] std::vector<std::string> unknown_keys() const { return parser_.unknown_keys(); }

 private:
  ReadOptions options_;
  LineParser parser_;
  std::uint64_t bad_lines_ = 0;
  std::vector<std::string> bad_notes_;
};

}  // namespace headway::interchange
