#include "failure/redact.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "failure/redact_rules.h"

namespace headway::failure {
namespace {

constexpr std::string_view kMark = "[redacted:";
constexpr std::size_t mark_bytes_max = 48;   // of any mark, the note about a cut included
constexpr std::size_t word_bytes_max = 512;  // a cut looks so far back for a space
constexpr std::string_view kPrivateKey = "private-key";

struct Range {
  std::size_t begin;
  std::size_t end;
};

std::string mark(std::string_view kind) {
  return std::string(kMark).append(kind).append("]");
}

bool is_kind(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

// The first mark at or behind `from`.
std::optional<Range> next_mark(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(kMark, from); at != std::string_view::npos;
       at = text.find(kMark, at + 1)) {
    std::size_t end = at + kMark.size();
    while (end < text.size() && end - at < mark_bytes_max && is_kind(text[end])) ++end;
    if (end < text.size() && text[end] == ']' && end > at + kMark.size()) {
      return Range{at, end + 1};
    }
  }
  return std::nullopt;
}

// Splits the piece at each secret and looks at both sides again as pieces of their own, until no
// piece holds any. A mark is never looked into. So a second time there is nothing to find.
void redact_piece(std::string_view piece, std::string& out) {
  struct Todo {
    std::string_view text;
    std::string_view kind;  // or a mark of this kind
  };
  std::vector<Todo> todo = {{piece, {}}};
  while (!todo.empty()) {
    const Todo next = todo.back();
    todo.pop_back();
    if (!next.kind.empty()) {
      out += mark(next.kind);
      continue;
    }
    const std::optional<Secret> secret = find_secret(next.text);
    if (!secret) {
      out += next.text;
      continue;
    }
    todo.push_back({next.text.substr(secret->end), {}});
    todo.push_back({{}, secret->kind});
    todo.push_back({next.text.substr(0, secret->begin), {}});
  }
}

std::string redact_between_marks(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  for (auto known = next_mark(text, at); known; known = next_mark(text, at)) {
    redact_piece(text.substr(at, known->begin - at), out);
    out += text.substr(known->begin, known->end - known->begin);
    at = known->end;
  }
  redact_piece(text.substr(at), out);
  return out;
}

// Where to cut so that `bytes` are enough: between words, since half a token is not recognised as
// one, and never inside a mark.
std::size_t cut_at(std::string_view text, std::size_t bytes) {
  std::size_t cut = text.find_last_of(" \t", bytes);
  if (cut == std::string_view::npos || bytes - cut > word_bytes_max) cut = bytes;
  for (auto known = next_mark(text, 0); known && known->begin < cut;
       known = next_mark(text, known->end)) {
    if (known->end > cut) return known->begin;
  }
  return cut;
}

}  // namespace

std::string redact_line(std::string_view text) {
  if (text.size() <= redacted_line_bytes_max && !may_hold_secret(text)) return std::string(text);
  std::string out(text);
  std::size_t cut_bytes = 0;
  const std::size_t room = redacted_line_bytes_max - mark_bytes_max;
  for (;;) {
    if (out.size() > (cut_bytes != 0 ? room : redacted_line_bytes_max)) {
      const std::size_t cut = cut_at(out, room);
      cut_bytes += out.size() - cut;
      out.resize(cut);
    }
    // Marks make a line longer, so that it may have to be cut again. That ends: each time fewer
    // bytes are outside of marks.
    std::string next = redact_between_marks(out);
    const bool done = next.size() <= (cut_bytes != 0 ? room : redacted_line_bytes_max);
    out = std::move(next);
    if (done) break;
  }
  if (cut_bytes != 0) out += mark(std::to_string(cut_bytes) + "-bytes");
  return out;
}

// Inside a key: is this line a part of it? Its last word is what a key's lines are made of; what
// stands before (a rank, a time) is the logger's.
bool Redactor::continues_key(std::string_view word) {
  constexpr std::size_t full_line_bytes_min = 60;  // of base64; only the last line is shorter
  const std::size_t padding = word.find_last_not_of("=\\\r");
  const std::string_view digits = word.substr(0, padding + 1);  // npos + 1: nothing
  const bool base64 = std::all_of(digits.begin(), digits.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
  const bool header = word.starts_with("4,ENCRYPTED") || word.starts_with("AES-") ||
                      word.starts_with("DES-");  // "Proc-Type: 4,ENCRYPTED"
  if (!base64 && !header) {
    key_lines_left_ = 0;  // the END line, or the key was cut off and this line is another's
    return false;
  }
  const bool last = !header && !word.empty() && word.size() < full_line_bytes_min;
  key_lines_left_ = last ? 0 : key_lines_left_ - 1;
  return true;
}

std::string Redactor::line(std::string_view text) {
  constexpr std::size_t prefix_bytes_max = 200;
  const std::size_t space = text.find_last_of(" \t");
  const std::size_t word = space == std::string_view::npos ? 0 : space + 1;
  if (key_lines_left_ > 0 && continues_key(text.substr(word))) {
    return redact_line(text.substr(0, std::min(word, prefix_bytes_max))) + mark(kPrivateKey);
  }
  if (opens_private_key(text)) key_lines_left_ = private_key_lines_max;
  return redact_line(text);
}

std::string redact_text(std::string_view text) {
  if (text.size() <= redacted_line_bytes_max && !may_hold_secret(text)) return std::string(text);
  Redactor redactor;
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (at > 0) out += '\n';
    out += redactor.line(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string redact_setting(std::string_view name, std::string_view value) {
  // In quotes, so that a space or a comma does not end it.
  std::string quoted(value);
  for (char& c : quoted) c = c == '"' || c == '\\' || c == '\n' ? '_' : c;
  const std::string before = std::string(name) + "=\"";
  const std::string line = redact_line(before + quoted + '"');
  if (line.starts_with(before)) {
    const auto whole = next_mark(line, before.size());
    if (whole && whole->begin == before.size() && whole->end + 1 == line.size()) {
      return line.substr(whole->begin, whole->end - whole->begin);
    }
  }
  return redact_text(value);
}

}  // namespace headway::failure
