// Values on their way to a PostgreSQL server, in its binary form: the parameters of a statement,
// and rows of a COPY. Pure; one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway::store {

// False: the server would take it for no text, and refuse all that it is sent with.
[[nodiscard]] bool is_text(std::string_view bytes);

// For LIMIT.
[[nodiscard]] inline std::int64_t rows_limit(std::size_t rows_max) {
  return rows_max > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(rows_max);
}

// In the order in which they are added: $1, $2 and so on. Copies what it is given.
class PostgresParams {
 public:
  PostgresParams& add(std::int64_t value);
  PostgresParams& add(std::string_view text);
  PostgresParams& add(std::span<const std::byte> blob);
  // Arrays of one dimension.
  PostgresParams& add_integers(std::span<const std::int64_t> values);
  PostgresParams& add_texts(std::span<const std::string> values);
  PostgresParams& add_blobs(std::span<const std::span<const std::byte>> values);

  [[nodiscard]] int size() const { return static_cast<int>(values_.size()); }
  [[nodiscard]] const std::vector<unsigned>& types() const { return types_; }
  [[nodiscard]] const std::vector<std::string>& values() const { return values_; }

 private:
  PostgresParams& push(unsigned type, std::string value);
  std::vector<unsigned> types_;  // the server's numbers of them, the same in every installation
  std::vector<std::string> values_;
};

// The body of a COPY … FROM STDIN (FORMAT binary).
class PostgresCopy {
 public:
  PostgresCopy();
  void begin_row(std::uint16_t columns);
  void add(std::int64_t value);
  void add(std::span<const std::byte> blob);
  // To be called once, at the end.
  [[nodiscard]] const std::string& finish();

 private:
  std::string bytes_;
};

}  // namespace headway::store
