#include "checkpoint/tensor.h"

#include <array>
#include <utility>

namespace headway::checkpoint {
namespace {

struct TypeRow {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array kTypes = {
    TypeRow{DType::boolean, "BOOL", 1},    TypeRow{DType::u8, "U8", 1},
    TypeRow{DType::i8, "I8", 1},           TypeRow{DType::f8_e4m3, "F8_E4M3", 1},
    TypeRow{DType::f8_e5m2, "F8_E5M2", 1}, TypeRow{DType::i16, "I16", 2},
    TypeRow{DType::u16, "U16", 2},         TypeRow{DType::f16, "F16", 2},
    TypeRow{DType::bf16, "BF16", 2},       TypeRow{DType::i32, "I32", 4},
    TypeRow{DType::u32, "U32", 4},         TypeRow{DType::f32, "F32", 4},
    TypeRow{DType::i64, "I64", 8},         TypeRow{DType::u64, "U64", 8},
    TypeRow{DType::f64, "F64", 8},
};

constexpr std::uint64_t kBytesMax = (std::uint64_t{1} << 63) - 1;

const TypeRow& row_of(DType dtype) {
  return kTypes[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::string_view name_of(DType dtype) {
  return row_of(dtype).name;
}

std::optional<DType> dtype_of(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::size_t element_bytes(DType dtype) {
  return row_of(dtype).bytes;
}

std::optional<std::uint64_t> bytes_of_shape(DType dtype, const std::vector<std::uint64_t>& shape) {
  std::uint64_t bytes = element_bytes(dtype);
  for (const std::uint64_t size : shape) {
    if (size == 0) return 0;
  }
  for (const std::uint64_t size : shape) {
    if (bytes > kBytesMax / size) return std::nullopt;
    bytes *= size;
  }
  return bytes;
}

}  // namespace headway::checkpoint
