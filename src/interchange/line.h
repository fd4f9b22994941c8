// One line of the JSON-lines event grammar (docs/formats/events.md), parsed and checked. A parser
// is used by one thread; it keeps its buffers between lines and otherwise has no memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/cut_text.h"
#include "base/status.h"
#include "event/event.h"

namespace headway::interchange {

inline constexpr std::size_t kLineBytesMax = 1 << 20;
inline constexpr std::size_t kLinePaddingBytes = 64;  // readable behind a line, content irrelevant
inline constexpr int kNestingMax = 32;                // of values that are ignored
inline constexpr std::int64_t kAttemptMax = (std::int64_t{1} << 53) - 1;
inline constexpr std::int64_t kCountMax = (std::int64_t{1} << 53) - 1;  // steps, data
inline constexpr std::uint32_t kRankMax = (1u << 24) - 1;
inline constexpr std::uint32_t kLaneMax = 65535;
inline constexpr std::size_t kTextBytesMax = 480;  // of a name or reason; longer ones are cut
inline constexpr std::size_t kJobBytesMax = 255;
inline constexpr std::int64_t kNoAttempt = -1;

// What a line says. Texts point into the parser or the line and live until the next parse.
struct Line {
  bool has_time = false;  // only an attr may come without
  std::int64_t t_ns = 0;
  std::string_view job;  // empty: not stated
  std::int64_t attempt = kNoAttempt;
  std::uint32_t rank = 0;  // event::kAgentRank for the launcher
  std::uint16_t lane = 0;
  std::uint32_t world_size = 0;
  std::string_view host;
  event::EventType type = event::EventType::none;
  std::uint16_t code = 0;  // mark or checkpoint state
  std::string_view name;   // phase, tier, attribute's key, or reason of a failure or exit
  std::string_view value;  // attribute's value
  std::int64_t a = 0;      // as in event::Event, where it is not a name
  std::int64_t b = 0;
  event::EndInfo end;  // failure and exit; its reason is `name`
};

class LineParser {
 public:
  LineParser();
  ~LineParser();
  LineParser(const LineParser&) = delete;
  LineParser& operator=(const LineParser&) = delete;

  // `line` has no line break and kLinePaddingBytes readable bytes behind it. The message of a
  // failed parse says what is wrong, not where: the caller knows file and line.
  base::Status parse(std::string_view line, Line& out);
  // The same for any bytes: copies them first. For tests and fuzzers.
  base::Status parse_copy(std::string_view line, Line& out);

  // Distinct keys met so far that mean nothing here (bounded), sorted.
  [[nodiscard]] std::vector<std::string> unknown_keys() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

using base::cut_text;

}  // namespace headway::interchange
