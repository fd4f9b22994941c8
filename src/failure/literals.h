// Which of many literals occur in a text, letters of either case: the cheap question that is asked
// of every line before any regular expression is. One pass, about a nanosecond a byte, however many
// literals there are. Immutable after construction; any thread.
//
// Each literal is known by three of its bytes, those that are rarest in text. A table of bits,
// which stays in the first-level cache, says for three bytes of the text whether they may be any
// literal's; only then is compared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headway::failure {

class LiteralSet {
 public:
  static constexpr std::size_t literal_bytes_min = 3;
  static constexpr unsigned hash_bits = 15;  // a table of 32 KiB stays in the cache

  // Upper case in `literals` is taken as lower case. Each has at least literal_bytes_min bytes.
  explicit LiteralSet(std::vector<std::string> literals);

  // The indices of those that occur, each once, in no order. `found` is cleared first.
  void find(std::string_view text, std::vector<int>& found) const;
  [[nodiscard]] bool any(std::string_view text) const;

 private:
  static constexpr unsigned bucket_bits = 10;

  struct Entry {
    std::uint32_t key = 0;  // the three bytes
    int literal = 0;
    std::size_t offset = 0;  // where in the literal they are
    // The literal's first bytes, up to eight: (text | fold) & mask == head. Only letters are
    // folded.
    std::uint64_t head = 0, fold = 0, mask = 0;
  };
  static std::size_t bucket_of(std::uint32_t hash) { return hash >> (hash_bits - bucket_bits); }
  [[nodiscard]] bool is_at(std::string_view text, std::size_t begin, const Entry& entry) const;
  // Calls take(index) for every literal that has its three bytes at `at` and is there as a whole;
  // take() returns false to stop.
  template <typename Take>
  bool compare(std::string_view text, std::size_t at, const Take& take) const;
  template <typename Take>
  void scan(std::string_view text, const Take& take) const;

  std::vector<std::string> literals_;
  std::array<std::uint8_t, 1u << hash_bits> known_{};  // 1: three bytes of some literal
  std::vector<Entry> entries_;                         // by bucket
  std::array<std::uint32_t, (1u << bucket_bits) + 1> bucket_ends_{};  // [b], [b + 1]: those of b
};

}  // namespace headway::failure
