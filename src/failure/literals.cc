#include "failure/literals.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace headway::failure {
namespace {

// Makes letters lower case. Other bytes fall together in pairs, which costs a comparison at most.
constexpr std::uint32_t kLower = 0x202020;
constexpr std::uint64_t kLowerWord = 0x2020202020202020;
static_assert(std::endian::native == std::endian::little, "a word's first byte is its lowest");

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

std::uint32_t key_at(const char* bytes) {
  const auto byte = [&](int i) {
    return static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[i]));
  };
  return (byte(0) | byte(1) << 8 | byte(2) << 16) | kLower;
}

std::uint64_t word_at(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// Of three bytes; the shift takes out a fourth that was loaded with them.
std::uint32_t hash_of(std::uint32_t key) {
  return ((key << 8) * 0x9E3779B1u) >> (32 - LiteralSet::hash_bits);
}

// How rare a byte is in logs, by rank. Digits and signs fill logs more than they fill prose.
int rarity(char c) {
  static constexpr std::string_view kCommon = " e0123456789taoinsr:.=/_-lhdcumfpg,[]()wybvkxjqz";
  const std::size_t rank = kCommon.find(lower(c));
  return static_cast<int>(rank == std::string_view::npos ? kCommon.size() : rank);
}

// What nearly every line of some log holds. A literal is better known by another of its places.
bool is_common(std::string_view three) {
  static constexpr std::string_view kCommon =
      " ing ter ion ent ati ate tra ain los oss ste tep gra rad inf nfo ccl 000 500 num umb amp "
      "mpl "
      "sam con res tim ime siz cal tch sca med lob glo ead eck ckp ank ard val dat abl ved err ror "
      "rro cti tio nte ect ati ";
  return kCommon.find(three) != std::string_view::npos || three.find(' ') != std::string_view::npos;
}

std::size_t rarest_offset(const std::string& literal) {
  constexpr int common_penalty = 100;
  std::size_t best = 0;
  int most = -common_penalty;
  for (std::size_t at = 0; at + 3 <= literal.size(); ++at) {
    const std::string_view three = std::string_view(literal).substr(at, 3);
    int sum = is_common(three) ? -common_penalty : 0;
    for (const char c : three) sum += rarity(c);
    if (sum > most) {
      most = sum;
      best = at;
    }
  }
  return best;
}

}  // namespace

LiteralSet::LiteralSet(std::vector<std::string> literals) : literals_(std::move(literals)) {
  for (std::size_t i = 0; i < literals_.size(); ++i) {
    std::string& literal = literals_[i];
    HW_CHECK(literal.size() >= literal_bytes_min);
    std::transform(literal.begin(), literal.end(), literal.begin(), lower);
    const std::size_t offset = rarest_offset(literal);
    const std::uint32_t key = key_at(literal.data() + offset);
    const std::uint32_t hash = hash_of(key);
    known_[hash] = 1;
    entries_.push_back({key, static_cast<int>(i), offset});
    Entry& entry = entries_.back();
    for (std::size_t at = 0; at < std::min(literal.size(), sizeof(std::uint64_t)); ++at) {
      const auto place = [&](unsigned byte) { return std::uint64_t{byte} << (8 * at); };
      const bool letter = literal[at] >= 'a' && literal[at] <= 'z';
      entry.head |= place(static_cast<std::uint8_t>(literal[at]));
      entry.fold |= letter ? place(0x20) : 0;
      entry.mask |= place(0xFF);
    }
  }
  const auto bucket = [](const Entry& entry) { return bucket_of(hash_of(entry.key)); };
  std::stable_sort(entries_.begin(), entries_.end(),
                   [&](const Entry& a, const Entry& b) { return bucket(a) < bucket(b); });
  for (const Entry& entry : entries_) ++bucket_ends_[bucket(entry) + 1];
  for (std::size_t i = 1; i < bucket_ends_.size(); ++i) bucket_ends_[i] += bucket_ends_[i - 1];
}

bool LiteralSet::is_at(std::string_view text, std::size_t begin, const Entry& entry) const {
  const std::string& literal = literals_[static_cast<std::size_t>(entry.literal)];
  std::size_t same = 0;
  if (begin + sizeof(std::uint64_t) <= text.size()) {
    if (((word_at(text.data() + begin) | entry.fold) & entry.mask) != entry.head) return false;
    same = sizeof(std::uint64_t);
    if (literal.size() <= same) return true;
  }
  if (begin + literal.size() > text.size()) return false;
  return std::equal(literal.begin() + same, literal.end(), text.begin() + begin + same,
                    [](char a, char b) { return a == lower(b); });
}

template <typename Take>
bool LiteralSet::compare(std::string_view text, std::size_t at, const Take& take) const {
  const std::uint32_t key = key_at(text.data() + at);
  const std::size_t bucket = bucket_of(hash_of(key));
  for (std::uint32_t i = bucket_ends_[bucket]; i < bucket_ends_[bucket + 1]; ++i) {
    const Entry& entry = entries_[i];
    if (entry.key != key || entry.offset > at) continue;
    if (is_at(text, at - entry.offset, entry) && !take(entry.literal)) return false;
  }
  return true;
}

template <typename Take>
void LiteralSet::scan(std::string_view text, const Take& take) const {
  constexpr std::size_t places = 6;  // of three bytes each, in a word of eight
  std::size_t at = 0;
  // One load and one branch for six places: hardly any of them is a candidate.
  for (; at + 8 <= text.size(); at += places) {
    const std::uint64_t word = word_at(text.data() + at) | kLowerWord;
    const auto known = [&](unsigned place) {
      return known_[hash_of(static_cast<std::uint32_t>(word >> (8 * place)))];
    };
    if ((known(0) | known(1) | known(2) | known(3) | known(4) | known(5)) == 0) continue;
    for (unsigned place = 0; place < places; ++place) {
      if (known(place) != 0 && !compare(text, at + place, take)) return;
    }
  }
  for (; at + 3 <= text.size(); ++at) {
    if (known_[hash_of(key_at(text.data() + at))] != 0 && !compare(text, at, take)) return;
  }
}

void LiteralSet::find(std::string_view text, std::vector<int>& found) const {
  found.clear();
  scan(text, [&](int literal) {
    if (std::find(found.begin(), found.end(), literal) == found.end()) found.push_back(literal);
    return true;
  });
}

bool LiteralSet::any(std::string_view text) const {
  bool found = false;
  scan(text, [&](int) {
    found = true;
    return false;
  });
  return found;
}

}  // namespace headway::failure
