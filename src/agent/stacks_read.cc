// Reading stacks: no file, no process.
#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/stacks.h"

namespace headway::agent {
namespace {

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

int number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// `  File "/x/train.py", line 33 in load`
std::optional<Frame> faulthandler_frame(std::string_view line) {
  constexpr std::string_view kFile = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  if (!line.starts_with(kFile)) return std::nullopt;
  const std::size_t end = line.find(kLine);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(end + kLine.size());
  const std::size_t in = rest.find(" in ");
  Frame frame;
  frame.file = line.substr(kFile.size(), end - kFile.size());
  frame.line = number(rest.substr(0, in));
  if (in != std::string_view::npos) frame.function = rest.substr(in + 4);
  return frame;
}

// `    load (train.py:33)`
std::optional<Frame> py_spy_frame(std::string_view line) {
  if (!line.starts_with("    ") || !line.ends_with(')')) return std::nullopt;
  const std::size_t open = line.rfind(" (");
  if (open == std::string_view::npos || open < 4) return std::nullopt;
  const std::string_view place = line.substr(open + 2, line.size() - open - 3);
  const std::size_t colon = place.rfind(':');
  Frame frame;
  frame.function = line.substr(4, open - 4);
  frame.file = place.substr(0, colon);
  if (colon != std::string_view::npos) frame.line = number(place.substr(colon + 1));
  return frame;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_library(const Frame& frame) {
  return frame.line == 0 || !frame.file.ends_with(".py") || contains(frame.file, "/lib/python") ||
         contains(frame.file, "site-packages") || contains(frame.file, "dist-packages") ||
         frame.file.starts_with("torch/") || frame.file.starts_with("<");
}

}  // namespace

std::vector<Frame> main_thread(std::string_view text) {
  std::vector<Frame> frames, found;
  bool wanted = false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const bool heads = line.starts_with("Thread ") || line.starts_with("Current thread ");
    if (heads) {
      wanted = line.starts_with("Current thread ") || contains(line, "\"MainThread\"");
      if (wanted) found.clear();
      continue;
    }
    if (!wanted) continue;
    auto frame = faulthandler_frame(line);
    if (!frame) frame = py_spy_frame(line);
    if (frame) found.push_back(std::move(*frame));
  }
  return found;
}

bool waits_for_peers(const std::vector<Frame>& frames) {
  // A collective is called by a few wrappers at most, or waited for below backward().
  constexpr std::size_t kDepth = 12;
  for (std::size_t i = 0; i < std::min(frames.size(), kDepth); ++i) {
    const Frame& frame = frames[i];
    if (contains(frame.file, "torch/distributed/") || contains(frame.function, "c10d::") ||
        contains(frame.function, "gloo::") || contains(frame.function, "nccl") ||
        frame.function == "_engine_run_backward") {
      return true;
    }
    if (!is_library(frame)) return false;  // the script's own code stands nearer
  }
  return false;
}

std::string place_of(const std::vector<Frame>& frames) {
  for (const Frame& frame : frames) {
    if (is_library(frame)) continue;
    const std::size_t slash = frame.file.rfind('/');
    const std::string name = slash == std::string::npos ? frame.file : frame.file.substr(slash + 1);
    return name + ":" + std::to_string(frame.line) + " (" + frame.function + ")";
  }
  return {};
}

std::size_t find_laggard(const std::vector<RankState>& ranks,
                         const std::vector<std::vector<Frame>>& stacks) {
  std::size_t best = 0;
  const auto waits = [&](std::size_t i) { return i < stacks.size() && waits_for_peers(stacks[i]); };
  const auto behind = [&](std::size_t a, std::size_t b) {
    const RankState& x = ranks[a];
    const RankState& y = ranks[b];
    if (x.reports != y.reports) return x.reports;
    if (x.step.value_or(-1) != y.step.value_or(-1)) {
      return x.step.value_or(-1) < y.step.value_or(-1);
    }
    if (waits(a) != waits(b)) return waits(b);
    return x.last_ns < y.last_ns;
  };
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (behind(i, best)) best = i;
  }
  return best;
}

}  // namespace headway::agent
