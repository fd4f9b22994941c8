#include "replica/row_set.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace headway::replica {

template <typename T>
void RowSet::mark_each(std::span<const T> rows) {
  for (const T row : rows) {
    const auto at = static_cast<std::uint64_t>(row);  // a negative one becomes too large
    if (at < rows_) words_[at / 64] |= std::uint64_t{1} << (at % 64);
  }
}

void RowSet::mark(std::span<const std::int64_t> rows) {
  mark_each(rows);
}
void RowSet::mark(std::span<const std::int32_t> rows) {
  mark_each(rows);
}

void RowSet::mark_all() {
  std::fill(words_.begin(), words_.end(), ~std::uint64_t{0});
  if (rows_ % 64 != 0) words_.back() = (std::uint64_t{1} << (rows_ % 64)) - 1;
}

void RowSet::add(const RowSet& other) {
  HW_CHECK(other.rows_ == rows_);
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

void RowSet::clear() {
  std::fill(words_.begin(), words_.end(), 0);
}

std::uint64_t RowSet::count() const {
  std::uint64_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::uint64_t>(std::popcount(word));
  return count;
}

std::vector<std::int64_t> RowSet::list() const {
  std::vector<std::int64_t> rows;
  rows.reserve(count());
  for (std::size_t i = 0; i < words_.size(); ++i) {
    for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
      rows.push_back(static_cast<std::int64_t>(i * 64) + std::countr_zero(word));
    }
  }
  return rows;
}

}  // namespace headway::replica
