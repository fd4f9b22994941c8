#include "cli/json_stream.h"

#include <utility>

#include "base/check.h"

namespace headway::cli {
namespace {

constexpr int kIndent = 2;
constexpr std::size_t kPieceBytes = 256 << 10;

std::string text_of(const Json& value) {
  return value.dump(kIndent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

JsonStream::JsonStream(std::function<bool(std::string_view)> sink) : sink_(std::move(sink)) {
  put("{");
  open_ = "{";
}

void JsonStream::put(std::string_view text) {
  held_ += text;
  if (held_.size() >= kPieceBytes) flush();
}

void JsonStream::flush() {
  good_ = good_ && sink_(held_);
  held_.clear();
}

void JsonStream::indent() {
  put("\n" + std::string(open_.size() * kIndent, ' '));
}

void JsonStream::begin(std::string_view key) {
  HW_CHECK(!open_.empty() && key.empty() == (open_.back() == '['));
  if (!first_) put(",");
  first_ = false;
  indent();
  if (!key.empty()) put(text_of(Json(key)) + ": ");
}

JsonStream& JsonStream::open(char bracket, std::string_view key) {
  begin(key);
  put(std::string_view(&bracket, 1));
  open_ += bracket;
  first_ = true;
  return *this;
}

JsonStream& JsonStream::add(const Json& value, std::string_view key) {
  begin(key);
  // A line break inside of a text is written as \n: all that are here are between values.
  const std::string text = text_of(value), break_here = std::string(open_.size() * kIndent, ' ');
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    out += c;
    if (c == '\n') out += break_here;
  }
  put(out);
  return *this;
}

JsonStream& JsonStream::close() {
  HW_CHECK(!open_.empty());
  const char bracket = open_.back();
  open_.pop_back();
  if (!first_) indent();
  put(bracket == '{' ? "}" : "]");
  first_ = false;
  return *this;
}

bool JsonStream::finish() {
  while (!open_.empty()) close();
  put("\n");
  flush();
  return good_;
}

}  // namespace headway::cli
