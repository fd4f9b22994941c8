#include "compile/recompile_reason.h"

#include <cctype>
#include <charconv>

namespace headway::compile {
namespace {

std::optional<std::int64_t> leading_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool skip(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// The "0/1: " before a reason, which is cut off.
std::optional<CompileId> skip_entry(std::string_view& text) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  const auto id = parse_compile_id(text.substr(0, colon));
  if (id) text.remove_prefix(colon + 2);
  return id;
}

// The guard without torch's comment: "n == 11    # y = x * n".
std::string_view guard_of(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  return trimmed(text.substr(0, text.find("  # ")));
}

// "tensor 'x' size mismatch at index 0. expected 8, actual 9"
bool parse_size(std::string_view text, RecompileReason& out) {
  constexpr std::string_view kMismatch = "' size mismatch at index ";
  if (!skip(text, "tensor '")) return false;
  const std::size_t at = text.rfind(kMismatch);
  if (at == std::string_view::npos) return false;
  out.name = text.substr(0, at);
  text.remove_prefix(at + kMismatch.size());
  const auto dim = leading_number(text);
  if (!dim || *dim < 0 || *dim >= 1000 || !skip(text, ". expected ")) return false;
  const auto expected = leading_number(text);
  if (!expected || !skip(text, ", actual ")) return false;
  out.actual = leading_number(text);
  if (!out.actual) return false;
  out.dim = static_cast<std::int32_t>(*dim);
  out.expected = *expected;
  out.kind = ReasonKind::size;
  return true;
}

// "n == 11", "x.size()[0] == 9"
bool parse_equal(std::string_view text, RecompileReason& out) {
  const std::size_t at = text.rfind(" == ");
  if (at == std::string_view::npos || at == 0) return false;
  std::string_view value = text.substr(at + 4);
  const auto expected = leading_number(value);
  if (!expected || !value.empty()) return false;
  std::string_view name = text.substr(0, at);
  constexpr std::string_view kSize = ".size()[";
  out.kind = ReasonKind::number;
  if (const std::size_t size_at = name.rfind(kSize);
      size_at != std::string_view::npos && name.ends_with(']')) {
    std::string_view rest = name.substr(size_at + kSize.size());
    const auto dim = leading_number(rest);
    if (!dim || *dim < 0 || *dim >= 1000 || rest != "]") return false;
    out.dim = static_cast<std::int32_t>(*dim);
    out.kind = ReasonKind::specialised;
    name = name.substr(0, size_at);
  }
  // A name, not an expression: "2*s0 == 8" and "len(d) == 2" are something else.
  if (name.find_first_of("*+%/()<>=") != std::string_view::npos &&
      name.find('\'') == std::string_view::npos) {
    return false;
  }
  if (name.starts_with("len(") || name.starts_with("___")) return false;
  out.name = name;
  out.expected = *expected;
  return true;
}

}  // namespace

std::optional<RecompileReason> parse_recompile_reason(std::string_view text) {
  const auto id = skip_entry(text);
  if (!id) return std::nullopt;
  RecompileReason out;
  out.entry = *id;
  const std::string_view guard = guard_of(text);
  out.text = guard;
  RecompileReason parsed = out;
  if (parse_size(guard, parsed)) return parsed;
  parsed = out;
  if (parse_equal(guard, parsed)) return parsed;
  return out;
}

std::vector<std::string_view> split_recompile_reasons(std::string_view text) {
  std::vector<std::string_view> reasons;
  std::size_t begin = 0;
  const auto take = [&](std::size_t end) {
    std::string_view reason = text.substr(begin, end - begin);
    while (reason.starts_with('\n')) reason.remove_prefix(1);
    while (reason.ends_with('\n')) reason.remove_suffix(1);
    if (!reason.empty()) reasons.push_back(reason);
    begin = end;
  };
  for (std::size_t at = 0; at < text.size();) {
    std::string_view line = text.substr(at, text.find('\n', at) - at);
    const std::size_t next = at + line.size() + 1;
    if (skip_entry(line)) take(at);
    at = next;
  }
  take(text.size());
  return reasons;
}

std::string short_source(std::string_view source) {
  std::string out;
  for (std::size_t at = 0; at < source.size();) {
    const bool word_before =
        !out.empty() &&
        (std::isalnum(static_cast<unsigned char>(out.back())) != 0 || out.back() == '_');
    if (!word_before && at + 3 < source.size() && source[at] == 'L' && source[at + 1] == '[' &&
        (source[at + 2] == '\'' || source[at + 2] == '"')) {
      const std::string close{source[at + 2], ']'};
      const std::size_t end = source.find(close, at + 3);
      if (end != std::string_view::npos) {
        out += source.substr(at + 3, end - at - 3);
        at = end + 2;
        continue;
      }
    }
    out += source[at++];
  }
  return out;
}

}  // namespace headway::compile
