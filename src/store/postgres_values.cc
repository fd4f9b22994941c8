#include "store/postgres_values.h"

#include <concepts>

#include "base/check.h"

namespace headway::store {
namespace {

constexpr unsigned kBytea = 17, kInt8 = 20, kText = 25;
constexpr unsigned kByteaArray = 1001, kTextArray = 1009, kInt8Array = 1016;

// Most significant byte first, as everything on this wire.
template <std::integral T>
void put(std::string& out, T value) {
  const auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (int shift = 8 * (static_cast<int>(sizeof(T)) - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(bits >> shift & 0xff));
  }
}

void put_sized(std::string& out, std::string_view bytes) {
  HW_CHECK(bytes.size() <= INT32_MAX);
  put(out, static_cast<std::int32_t>(bytes.size()));
  out.append(bytes);
}

std::string_view chars_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string array_head(unsigned type, std::size_t size) {
  std::string out;
  put(out, std::int32_t{size == 0 ? 0 : 1});  // dimensions
  put(out, std::int32_t{0});                  // no NULL among them
  put(out, static_cast<std::uint32_t>(type));
  if (size == 0) return out;
  put(out, static_cast<std::int32_t>(size));
  put(out, std::int32_t{1});  // the number of the first
  return out;
}

}  // namespace

bool is_text(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    if (lead == 0) return false;
    const int more = lead < 0x80           ? 0
                     : (lead >> 5) == 0x06 ? 1
                     : (lead >> 4) == 0x0e ? 2
                     : (lead >> 3) == 0x1e ? 3
                                           : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) >= bytes.size()) return false;
    std::uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
    for (int k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(bytes[i + static_cast<std::size_t>(k)]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3fu);
    }
    constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      return false;
    i += static_cast<std::size_t>(more) + 1;
  }
  return true;
}

PostgresParams& PostgresParams::push(unsigned type, std::string value) {
  types_.push_back(type);
  values_.push_back(std::move(value));
  return *this;
}

PostgresParams& PostgresParams::add(std::int64_t value) {
  std::string bytes;
  put(bytes, value);
  return push(kInt8, std::move(bytes));
}

PostgresParams& PostgresParams::add(std::string_view text) {
  return push(kText, std::string(text));
}

PostgresParams& PostgresParams::add(std::span<const std::byte> blob) {
  return push(kBytea, std::string(chars_of(blob)));
}

PostgresParams& PostgresParams::add_integers(std::span<const std::int64_t> values) {
  std::string out = array_head(kInt8, values.size());
  for (const std::int64_t value : values) {
    put(out, std::int32_t{sizeof(value)});
    put(out, value);
  }
  return push(kInt8Array, std::move(out));
}

PostgresParams& PostgresParams::add_texts(std::span<const std::string> values) {
  std::string out = array_head(kText, values.size());
  for (const std::string& value : values) put_sized(out, value);
  return push(kTextArray, std::move(out));
}

PostgresParams& PostgresParams::add_blobs(std::span<const std::span<const std::byte>> values) {
  std::string out = array_head(kBytea, values.size());
  for (const auto& value : values) put_sized(out, chars_of(value));
  return push(kByteaArray, std::move(out));
}

PostgresCopy::PostgresCopy() : bytes_("PGCOPY\n\377\r\n\0", 11) {
  put(bytes_, std::int32_t{0});  // no flags
  put(bytes_, std::int32_t{0});  // no more of a header
}

void PostgresCopy::begin_row(std::uint16_t columns) {
  put(bytes_, columns);
}

void PostgresCopy::add(std::int64_t value) {
  put(bytes_, std::int32_t{sizeof(value)});
  put(bytes_, value);
}

void PostgresCopy::add(std::span<const std::byte> blob) {
  put_sized(bytes_, chars_of(blob));
}

const std::string& PostgresCopy::finish() {
  put(bytes_, std::int16_t{-1});
  return bytes_;
}

}  // namespace headway::store
