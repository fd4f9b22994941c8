#include "failure/line_rules.h"

#include <algorithm>

#include "failure/line_shape.h"

namespace headway::failure {
namespace {

std::vector<std::string> other_patterns(const Rules& rules) {
  std::vector<std::string> patterns;
  for (const Progress& kind : rules.progress) patterns.push_back(kind.pattern->pattern());
  for (const Noise& noise : rules.noise) patterns.push_back(noise.pattern->pattern());
  for (const auto& prefix : rules.prefixes) patterns.push_back(prefix->pattern());
  return patterns;
}

// Does every alternative of the pattern begin with '^'? In doubt, no.
bool is_anchored(std::string_view pattern) {
  if (pattern.starts_with("(?i)")) pattern.remove_prefix(4);
  if (pattern.find("[:") != std::string_view::npos) return false;  // [[:alpha:]]: not followed here
  const auto begins_anchored = [&](std::size_t at) {
    const bool repeated = at + 1 < pattern.size() &&
                          std::string_view("*+?{").find(pattern[at + 1]) != std::string_view::npos;
    return at < pattern.size() && pattern[at] == '^' && !repeated;
  };
  bool anchored = begins_anchored(0);
  int depth = 0;
  bool in_class = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      if (pattern.substr(at, 2) == "\\Q") return false;  // quotes the rest: too much to follow
      ++at;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
      // A bracket inside a class: legal, rare, and not worth following.
      if (pattern.substr(at + 1, 1) == "]" || pattern.substr(at + 1, 2) == "^]" ||
          pattern.substr(at + 1, 1) == "[") {
        return false;
      }
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      --depth;
    } else if (c == '|' && depth == 0) {
      anchored = anchored && begins_anchored(at + 1);
    }
  }
  return anchored && depth == 0 && !in_class;
}

// Marks the bytes that a line may begin with in which `pattern` is found.
void mark_heads(const re2::RE2& pattern, std::array<bool, 256>& heads) {
  constexpr int range_bytes_max = 8;
  std::string low, high;
  const bool known =
      is_anchored(pattern.pattern()) && pattern.PossibleMatchRange(&low, &high, range_bytes_max);
  const std::size_t from = known && !low.empty() ? static_cast<std::uint8_t>(low.front()) : 0;
  const std::size_t to = known && !high.empty() ? static_cast<std::uint8_t>(high.front()) : 255;
  for (std::size_t byte = from; byte <= to; ++byte) heads[byte] = true;
}

}  // namespace

LineRules::LineRules(const Rules& rules)
    : rules_(rules),
      index_(rules, where_log, other_patterns(rules)),
      noise_at_(index_.rule_count() + static_cast<int>(rules.progress.size())),
      prefixes_at_(noise_at_ + static_cast<int>(rules.noise.size())) {
  gather_heads();
  generalise();
}

void LineRules::generalise() {
  for_any_digits_.resize(static_cast<std::size_t>(index_.rule_count()));
  for (std::size_t id = 0; id < for_any_digits_.size(); ++id) {
    const std::string& pattern = index_.regexp(static_cast<int>(id)).pattern();
    if (ignores_which_digits(pattern)) continue;
    // What cannot be said for any digits is taken to match everything.
    for_any_digits_[id] =
        std::make_unique<re2::RE2>(for_any_digits(pattern).value_or(""), pattern_options());
    if (!for_any_digits_[id]->ok()) {
      for_any_digits_[id] = std::make_unique<re2::RE2>("", pattern_options());
    }
  }
}

bool LineRules::is_quiet_shape(std::string_view text, const Candidates& among) const {
  const Noise* noise = noise_in(text, among);
  if (noise != nullptr && ignores_which_digits(noise->pattern->pattern())) return true;
  return std::none_of(among.rules.begin(), among.rules.end(), [&](int id) {
    const auto& general = for_any_digits_[static_cast<std::size_t>(id)];
    return general != nullptr ? finds(*general, text) : index_.matches(id, text);
  });
}

void LineRules::gather_heads() {
  std::string all;
  for (const int id : index_.candidates({})) {
    const bool is_rule = id < index_.rule_count();
    const bool is_block = id >= noise_at_ && id < prefixes_at_ &&
                          rules_.noise[static_cast<std::size_t>(id - noise_at_)].block;
    if (is_rule) always_.push_back(id);
    if (!is_rule && !is_block && id < prefixes_at_) continue;
    const re2::RE2& pattern = index_.regexp(id);
    mark_heads(pattern, heads_);
    head_ignores_digits_ &= ignores_which_digits(pattern.pattern());
    all.append(all.empty() ? "(?:" : "|(?:").append(pattern.pattern()).append(")");
  }
  if (all.empty()) all = "$.";  // never matches
  head_ = std::make_unique<re2::RE2>(all, pattern_options());
  if (!head_->ok()) head_.reset();
}

bool LineRules::head_matches(std::string_view line) const {
  return head_ == nullptr || finds(*head_, line);
}

Candidates LineRules::candidates(const std::vector<int>& literals) const {
  Candidates out;
  const std::vector<int> without = index_.candidates({});
  for (const int id : index_.candidates(literals)) {
    const bool by_literal = std::find(without.begin(), without.end(), id) == without.end();
    if (id < index_.rule_count()) {
      if (by_literal) out.rules.push_back(id);
    } else if (id < noise_at_) {
      out.progress |= progress_bit(id - index_.rule_count());
    } else if (id < prefixes_at_) {
      out.noise.push_back(id);
      out.special |= by_literal && rules_.noise[static_cast<std::size_t>(id - noise_at_)].block;
    } else {
      out.prefixes.push_back(id);
      out.special |= by_literal;
    }
  }
  return out;
}

std::string_view LineRules::without_prefixes(std::string_view line, const Candidates& among,
                                             std::string& scratch) const {
  for (const int id : among.prefixes) {
    re2::StringPiece found;
    const re2::RE2& prefix = index_.regexp(id);
    if (!prefix.Match(piece_of(line), 0, line.size(), re2::RE2::UNANCHORED, &found, 1)) continue;
    const auto begin = static_cast<std::size_t>(found.data() - line.data());
    if (begin == 0) {
      line.remove_prefix(found.size());
      continue;
    }
    std::string rest(line.substr(0, begin));
    rest += line.substr(begin + found.size());
    scratch = std::move(rest);
    line = scratch;
  }
  return line;
}

const Noise* LineRules::noise_in(std::string_view text, const Candidates& among) const {
  for (const int id : among.noise) {
    if (index_.matches(id, text)) return &rules_.noise[static_cast<std::size_t>(id - noise_at_)];
  }
  return nullptr;
}

}  // namespace headway::failure
