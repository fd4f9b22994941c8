#include "compile/code_state.h"

#include <charconv>
#include <optional>

#include "compile/compile_log.h"

namespace headway::compile {
namespace {

constexpr std::string_view kIndent = "  ";

// "hash(4094f28d)/a/train.py:3:forward" → "forward (train.py:3)"; else what it is.
std::string function_of(std::string_view code) {
  const std::size_t name_at = code.rfind(':');
  if (name_at == std::string_view::npos || name_at == 0) return std::string(code);
  const std::size_t line_at = code.rfind(':', name_at - 1);
  if (line_at == std::string_view::npos) return std::string(code);
  const std::string_view line = code.substr(line_at + 1, name_at - line_at - 1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end != line.data() + line.size()) return std::string(code);
  std::string_view file = code.substr(0, line_at);
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  std::string out(code.substr(name_at + 1));
  return out.append(" (").append(file).append(":").append(line).append(")");
}

// "[?, 4, 7]": its question marks. None: no such list.
std::optional<std::vector<std::int32_t>> dims_of(std::string_view list) {
  const std::size_t close = list.find(']');
  if (list.empty() || list.front() != '[' || close == std::string_view::npos) return std::nullopt;
  std::string_view rest = list.substr(1, close - 1);
  std::vector<std::int32_t> out;
  for (std::int32_t dim = 0; !rest.empty(); ++dim) {
    if (static_cast<std::size_t>(dim) >= kStateDimsMax) return std::nullopt;
    const std::size_t comma = rest.find(", ");
    const std::string_view one = rest.substr(0, comma);
    if (one.empty()) return std::nullopt;
    if (one == "?") out.push_back(dim);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
  }
  return out;
}

// `line` without its indent. A source's name may hold anything, ": " too: what comes behind it is
// looked for from the end.
bool parse_source(std::string_view line, StateSource& out) {
  constexpr std::string_view kTensor = ": tensor size=";
  constexpr std::string_view kNumber = ": scalar ";
  constexpr std::string_view kAnything = ": fully dynamic scalar or tensor";
  std::size_t at = std::string_view::npos;
  if (line.ends_with(kAnything)) {
    out.kind = StateKind::anything;
    at = line.size() - kAnything.size();
  } else if ((at = line.rfind(kTensor)) != std::string_view::npos) {
    out.kind = StateKind::tensor;
    auto dims = dims_of(line.substr(at + kTensor.size()));
    if (!dims) return false;
    out.dynamic_dims = std::move(*dims);
  } else if ((at = line.rfind(kNumber)) != std::string_view::npos) {
    out.kind = StateKind::number;
  } else {
    return line.find(": unusual ") != std::string_view::npos;  // torch's word for what says nothing
  }
  out.source = line.substr(0, at);
  return !out.source.empty();
}

}  // namespace

CodeStates parse_code_state(std::string_view text) {
  CodeStates out;
  std::string function;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty()) break;  // torch's suggestion follows
    if (!line.starts_with(kIndent)) {
      if (!line.ends_with(':')) {
        ++out.bad_lines;
        continue;
      }
      function = function_of(line.substr(0, line.size() - 1)).substr(0, kNameBytesMax);
      continue;
    }
    StateSource source;
    source.function = function;
    if (!parse_source(line.substr(kIndent.size()), source)) {
      ++out.bad_lines;
    } else if (source.source.empty()) {
      continue;
    } else if (out.sources.size() >= kStateSourcesMax || source.source.size() > kSourceBytesMax) {
      ++out.left_out;
    } else {
      out.sources.push_back(std::move(source));
    }
  }
  return out;
}

}  // namespace headway::compile
