#include "compile/source_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace headway::compile {
namespace {

constexpr std::size_t kWordsMax = 64;       // of one choice in an expression
constexpr std::size_t kAddressDigits = 10;  // so many in a row are an address, not a number

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// A part of a name, or of an expression for several.
struct Piece {
  enum class Kind : std::uint8_t { text, digits, key, words };
  Kind kind = Kind::text;
  std::string text;
  std::vector<std::string> words;
};
using Pieces = std::vector<Piece>;

// Where the key that begins at `at`, behind [', ends; npos: none does.
std::size_t key_end(std::string_view name, std::size_t at) {
  const std::size_t end = name.find('\'', at);
  const bool closed =
      end != std::string_view::npos && end + 1 < name.size() && name[end + 1] == ']';
  return closed && end > at ? end : std::string_view::npos;
}

// `keys`: a key of a dictionary is a piece; the first one is the variable's own name. Else every
// number is one.
Pieces pieces_of(std::string_view name, bool keys) {
  Pieces out;
  std::string text;
  const auto push = [&](Piece::Kind kind, std::string_view what) {
    if (!text.empty()) out.push_back({Piece::Kind::text, std::exchange(text, {}), {}});
    out.push_back({kind, std::string(what), {}});
  };
  for (std::size_t at = 0; at < name.size();) {
    if (keys && at > 3 && text.ends_with("['")) {
      if (const std::size_t end = key_end(name, at); end != std::string_view::npos) {
        push(Piece::Kind::key, name.substr(at, end - at));
        at = end;
        continue;
      }
    }
    if (!keys && is_digit(name[at])) {
      std::size_t end = at;
      while (end < name.size() && is_digit(name[end])) ++end;
      push(Piece::Kind::digits, name.substr(at, end - at));
      at = end;
      continue;
    }
    text += name[at++];
  }
  if (!text.empty()) out.push_back({Piece::Kind::text, std::move(text), {}});
  return out;
}

// What names have to have in common to become one expression.
std::string shape_of(const Pieces& pieces) {
  std::string out;
  for (const Piece& piece : pieces) {
    if (piece.kind == Piece::Kind::text) {
      out += piece.text;
    } else {
      out += piece.kind == Piece::Kind::digits ? '\x01' : '\x02';
    }
  }
  return out;
}

bool matches(std::span<const Piece> pieces, std::string_view name) {
  if (pieces.empty()) return name.empty();
  const Piece& piece = pieces.front();
  const auto rest = pieces.subspan(1);
  switch (piece.kind) {
    case Piece::Kind::text:
      return name.starts_with(piece.text) && matches(rest, name.substr(piece.text.size()));
    case Piece::Kind::words:
      return std::any_of(piece.words.begin(), piece.words.end(), [&](const std::string& word) {
        return name.starts_with(word) && matches(rest, name.substr(word.size()));
      });
    case Piece::Kind::digits:
    case Piece::Kind::key:
      break;
  }
  // As long as it can be: what follows begins with neither a digit nor, behind a key, anything but
  // its quote.
  std::size_t end = 0;
  const bool digits = piece.kind == Piece::Kind::digits;
  while (end < name.size() && (digits ? is_digit(name[end]) : name[end] != '\'')) ++end;
  return end > 0 && matches(rest, name.substr(end));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_word(c) || c == '\'' || byte >= 0x80) {
      out += c;
    } else if (c == '[' || c == ']' || c == '.' || c == '(' || c == ')') {
      out += '\\';
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

std::string expression(const Pieces& pieces) {
  std::string out;
  for (const Piece& piece : pieces) {
    switch (piece.kind) {
      case Piece::Kind::text:
        out += escaped(piece.text);
        break;
      case Piece::Kind::digits:
        out += "\\d+";
        break;
      case Piece::Kind::key:
        out += "[^']+";
        break;
      case Piece::Kind::words: {
        std::string words;
        for (const std::string& word : piece.words) {
          words += (words.empty() ? "" : "|") + escaped(word);
        }
        out += fmt::format("(?:{})", words);
        break;
      }
    }
  }
  return out + "\\Z";
}

// Nothing in it means more than itself, to torch and to Python's expressions.
bool is_plain(std::string_view name) {
  const auto harmless = [](char c) {
    return is_word(c) || c == '\'' || c == '[' || c == ']' || c == '.';
  };
  return (name.starts_with("L['") || name.starts_with("G['")) &&
         std::all_of(name.begin(), name.end(), harmless) &&
         name.find("[]") == std::string_view::npos && name.find("[[") == std::string_view::npos &&
         std::count(name.begin(), name.end(), '[') == std::count(name.begin(), name.end(), ']');
}

std::string with_dim(std::string text, std::int32_t dim) {
  return dim < 0 ? std::move(text) : fmt::format("{}:{}", text, dim);
}

SourceEntry alone(const SourceDim& at) {
  std::string text =
      is_plain(at.source) ? at.source : expression({{Piece::Kind::text, at.source, {}}});
  return {with_dim(std::move(text), at.dim), {at}};
}

// Of what is known, it touches only what is wanted. A number has no dimension: torch takes any
// entry for it; an entry without one makes all dimensions of a tensor dynamic.
bool is_sound(const Pieces& pieces, std::int32_t dim, const std::set<SourceDim>& wanted,
              const std::set<KnownSource>& known) {
  return std::none_of(known.begin(), known.end(), [&](const KnownSource& one) {
    if (!matches(pieces, one.source)) return false;
    if (one.number) return !wanted.contains({one.source, -1});
    return dim < 0 || !wanted.contains({one.source, dim});
  });
}

// One expression for names of one shape: wherever they differ, any number or key, or else (with
// `words`) one of theirs. Empty: too many words.
Pieces joined(const std::vector<Pieces>& names, bool words) {
  Pieces out = names.front();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].kind == Piece::Kind::text) continue;
    std::set<std::string> values;
    for (const Pieces& name : names) values.insert(name[i].text);
    if (values.size() == 1) {
      out[i].kind = Piece::Kind::text;
    } else if (words) {
      if (values.size() > kWordsMax) return {};
      out[i].kind = Piece::Kind::words;
      out[i].words.assign(values.begin(), values.end());
    }
  }
  return out;
}

}  // namespace

std::string text_of(const SourceDim& at) {
  return with_dim(at.source, at.dim);
}

std::vector<SourceEntry> merge_sources(const std::set<SourceDim>& wanted,
                                       const std::set<KnownSource>& known, bool join) {
  std::vector<SourceEntry> out;
  std::set<SourceDim> left = wanted;
  for (const bool keys : {false, true}) {
    if (!join) break;
    struct Group {
      std::vector<SourceDim> members;
      std::vector<Pieces> pieces;
    };
    std::map<std::pair<std::string, std::int32_t>, Group> groups;
    for (const SourceDim& at : left) {
      Pieces pieces = pieces_of(at.source, keys);
      Group& group = groups[{shape_of(pieces), at.dim}];
      group.members.push_back(at);
      group.pieces.push_back(std::move(pieces));
    }
    for (auto& [shape, group] : groups) {
      if (group.members.size() < kMergeMin) continue;
      for (const bool words : {false, true}) {
        const Pieces pieces = joined(group.pieces, words);
        if (pieces.empty() || !is_sound(pieces, shape.second, wanted, known)) continue;
        for (const SourceDim& at : group.members) left.erase(at);
        out.push_back({with_dim(expression(pieces), shape.second), std::move(group.members)});
        break;
      }
    }
  }
  for (const SourceDim& at : left) out.push_back(alone(at));
  std::stable_sort(out.begin(), out.end(), [](const SourceEntry& a, const SourceEntry& b) {
    return a.covers.front() < b.covers.front();
  });
  return out;
}

bool is_lasting_name(std::string_view source) {
  std::size_t digits = 0, hex = 0;
  for (const char c : source) {
    digits = is_digit(c) ? digits + 1 : 0;
    hex = is_digit(c) || (c >= 'a' && c <= 'f') ? hex + 1 : (c == '_' || c == '-' ? hex : 0);
    if (digits >= kAddressDigits || hex >= 32) return false;
  }
  return true;
}

}  // namespace headway::compile
