// Which rows of a table have changed: a bit each. Marking is what a training step pays for, so it
// does nothing else. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway::replica {

class RowSet {
 public:
  explicit RowSet(std::uint64_t rows) : rows_(rows), words_((rows + 63) / 64) {}

  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  // Numbers that are no row of it are passed over: torch has refused them already.
  void mark(std::span<const std::int64_t> rows);
  void mark(std::span<const std::int32_t> rows);
  void mark_all();
  void add(const RowSet& other);
  void clear();
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::vector<std::int64_t> list() const;  // rising

 private:
  template <typename T>
  void mark_each(std::span<const T> rows);

  std::uint64_t rows_;
  std::vector<std::uint64_t> words_;
};

}  // namespace headway::replica
