// Plain structures as the bytes of a column. Pure.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

namespace headway::store {

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span(&value, 1));
}

// False: the column does not hold one.
template <typename T>
bool read_into(std::span<const std::byte> blob, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (blob.size() != sizeof(value)) return false;
  std::memcpy(&value, blob.data(), sizeof(value));
  return true;
}

}  // namespace headway::store
