#include "failure/literals.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace headway::failure {
namespace {

constexpr std::uint32_t kThreeBytes = 0xFFFFFF;
// Makes letters lower case. Other bytes fall together in pairs, which costs a comparison at most.
constexpr std::uint32_t kLower = 0x202020;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

std::uint32_t key_at(const char* bytes) {
  return (static_cast<std::uint8_t>(bytes[0]) |
          static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[1])) << 8 |
          static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[2])) << 16) |
         kLower;
}

// The same of four bytes that may be read at once.
std::uint32_t key_of(std::uint32_t four) {
  return (four & kThreeBytes) | kLower;
}

std::uint32_t hash_of(std::uint32_t key) {
  return (key * 0x9E3779B1u) >> 16;
}

// How rare a byte is in logs, by rank. Digits and signs fill logs more than they fill prose.
int rarity(char c) {
  static constexpr std::string_view kCommon = " e0123456789taoinsr:.=/_-lhdcumfpg,[]()wybvkxjqz";
  const std::size_t rank = kCommon.find(lower(c));
  return static_cast<int>(rank == std::string_view::npos ? kCommon.size() : rank);
}

std::size_t rarest_offset(const std::string& literal) {
  std::size_t best = 0;
  int most = -1;
  for (std::size_t at = 0; at + 3 <= literal.size(); ++at) {
    const int sum = rarity(literal[at]) + rarity(literal[at + 1]) + rarity(literal[at + 2]);
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
    bits_[hash >> 6] |= std::uint64_t{1} << (hash & 63);
    buckets_[hash >> (hash_bits - bucket_bits)].push_back({key, static_cast<int>(i), offset});
  }
}

template <typename Take>
bool LiteralSet::compare(std::string_view text, std::size_t at, const Take& take) const {
  const std::uint32_t key = key_at(text.data() + at);
  for (const Entry& entry : buckets_[hash_of(key) >> (hash_bits - bucket_bits)]) {
    if (entry.key != key || entry.offset > at) continue;
    const std::string& literal = literals_[static_cast<std::size_t>(entry.literal)];
    const std::string_view here = text.substr(at - entry.offset, literal.size());
    const bool same =
        here.size() == literal.size() && std::equal(here.begin(), here.end(), literal.begin(),
                                                    [](char a, char b) { return lower(a) == b; });
    if (same && !take(entry.literal)) return false;
  }
  return true;
}

template <typename Take>
void LiteralSet::scan(std::string_view text, const Take& take) const {
  std::size_t at = 0;
  // Four places a turn and one branch for them: hardly any of them is a candidate.
  for (; at + 7 <= text.size(); at += 4) {
    std::array<std::uint32_t, 4> hashes{};
    bool candidate = false;
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint32_t four = 0;
      std::memcpy(&four, text.data() + at + i, sizeof(four));
      hashes[i] = hash_of(key_of(four));
      candidate |= may_be(hashes[i]);
    }
    if (!candidate) continue;
    for (std::size_t i = 0; i < 4; ++i) {
      if (may_be(hashes[i]) && !compare(text, at + i, take)) return;
    }
  }
  for (; at + 3 <= text.size(); ++at) {
    if (may_be(hash_of(key_at(text.data() + at))) && !compare(text, at, take)) return;
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
