#include "object_store/profile.h"

#include <functional>

namespace headway::object_store {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_section(std::string_view header, std::string_view name, bool config_file) {
  header = trimmed(header);
  if (config_file && header != "default") {
    constexpr std::string_view word = "profile";
    if (!header.starts_with(word) || header.size() == word.size()) return false;
    const char after = header[word.size()];
    if (after != ' ' && after != '\t') return false;
    header = trimmed(header.substr(word.size()));
  }
  if (header.size() >= 2 && header.front() == '"' && header.back() == '"') {
    header = header.substr(1, header.size() - 2);
  }
  return header == name;
}

using Pair = std::function<void(std::string_view key, std::string_view value)>;

bool each_pair(std::string_view text, std::string_view name, bool config_file, const Pair& pair) {
  bool inside = false;
  bool found = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (content.front() == '[') {
      const std::size_t close = content.find(']');
      inside = close != std::string_view::npos &&
               is_section(content.substr(1, close - 1), name, config_file);
      found |= inside;
      continue;
    }
    const std::size_t equals = content.find('=');
    const bool nested = line.front() == ' ' || line.front() == '\t';
    if (!inside || nested || equals == std::string_view::npos) continue;
    pair(trimmed(content.substr(0, equals)), trimmed(content.substr(equals + 1)));
  }
  return found;
}

}  // namespace

Profile profile_of(std::string_view text, std::string_view name, bool config_file) {
  Profile profile;
  each_pair(text, name, config_file, [&](std::string_view key, std::string_view value) {
    profile[std::string(key)] = std::string(value);
  });
  return profile;
}

bool has_profile(std::string_view text, std::string_view name, bool config_file) {
  return each_pair(text, name, config_file, [](std::string_view, std::string_view) {});
}

}  // namespace headway::object_store
