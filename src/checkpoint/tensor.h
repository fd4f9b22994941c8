// What a checkpoint holds: pieces of named tensors. Names of types are those of safetensors. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headway::checkpoint {

enum class DType : std::uint8_t {
  boolean,
  u8,
  i8,
  f8_e4m3,
  f8_e5m2,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  i64,
  u64,
  f64,
};
[[nodiscard]] std::string_view name_of(DType dtype);  // "F32"
[[nodiscard]] std::optional<DType> dtype_of(std::string_view name);
[[nodiscard]] std::size_t element_bytes(DType dtype);

inline constexpr std::size_t dimensions_max = 32;
inline constexpr std::size_t tensor_name_bytes_max = 4096;
inline constexpr std::size_t tensors_max = 1'000'000;  // of one file

// One piece of a tensor that may be spread over several ranks.
struct Piece {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;    // of this piece
  std::vector<std::uint64_t> offsets;  // of its first element in the whole; as many as `shape`
};

// Elements times their size; none: it would not fit into 63 bits.
[[nodiscard]] std::optional<std::uint64_t> bytes_of_shape(DType dtype,
                                                          const std::vector<std::uint64_t>& shape);

}  // namespace headway::checkpoint
