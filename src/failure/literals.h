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

  // Upper case in `literals` is taken as lower case. Each has at least literal_bytes_min bytes.
  explicit LiteralSet(std::vector<std::string> literals);

  // The indices of those that occur, each once, in no order. `found` is cleared first.
  void find(std::string_view text, std::vector<int>& found) const;
  [[nodiscard]] bool any(std::string_view text) const;

 private:
  static constexpr unsigned hash_bits = 16;
  static constexpr unsigned bucket_bits = 10;

  struct Entry {
    std::uint32_t key;  // the three bytes
    int literal;
    std::size_t offset;  // where in the literal they are
  };
  [[nodiscard]] bool may_be(std::uint32_t hash) const {
    return ((bits_[hash >> 6] >> (hash & 63)) & 1) != 0;
  }
  // Calls take(index) for every literal that has its three bytes at `at` and is there as a whole;
  // take() returns false to stop.
  template <typename Take>
  bool compare(std::string_view text, std::size_t at, const Take& take) const;
  template <typename Take>
  void scan(std::string_view text, const Take& take) const;

  std::vector<std::string> literals_;
  std::array<std::uint64_t, (1u << hash_bits) / 64> bits_{};
  std::array<std::vector<Entry>, 1u << bucket_bits> buckets_;
};

}  // namespace headway::failure
