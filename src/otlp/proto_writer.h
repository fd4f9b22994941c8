// The wire format of protocol buffers, as far as OTLP needs it: numbers, texts and messages in
// messages. Fields that are zero or empty are left out, as proto3 has it, but for those of an
// optional or a oneof, which their callers write by the functions that say so. Pure; one thread.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace headway::otlp {

class ProtoWriter {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    if (value != 0) present_number(field, value);
  }
  void present_number(std::uint32_t field, std::uint64_t value) {
    varint(field << 3 | kVarint);
    varint(value);
  }
  void fixed(std::uint32_t field, std::uint64_t value) {
    if (value != 0) present_fixed(field, value);
  }
  void present_fixed(std::uint32_t field, std::uint64_t value) {
    varint(field << 3 | kFixed64);
    raw(value);
  }
  void present_real(std::uint32_t field, double value) {
    present_fixed(field, std::bit_cast<std::uint64_t>(value));
  }
  void text(std::uint32_t field, std::string_view value) {
    if (!value.empty()) present_text(field, value);
  }
  void present_text(std::uint32_t field, std::string_view value) {
    varint(field << 3 | kLength);
    varint(value.size());
    out_ += value;
  }
  void bytes(std::uint32_t field, std::span<const std::uint8_t> value) {
    present_text(field, {reinterpret_cast<const char*>(value.data()), value.size()});
  }
  // Eight bytes each, one after another.
  template <typename T>
  void packed(std::uint32_t field, std::span<const T> values) {
    static_assert(sizeof(T) == 8);
    if (values.empty()) return;
    varint(field << 3 | kLength);
    varint(values.size() * sizeof(T));
    for (const T value : values) raw(std::bit_cast<std::uint64_t>(value));
  }
  template <typename F>  // f(ProtoWriter&)
  void message(std::uint32_t field, F&& f) {
    ProtoWriter inner;
    f(inner);
    present_text(field, inner.out_);
  }

  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  static constexpr std::uint32_t kVarint = 0, kFixed64 = 1, kLength = 2;
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void raw(std::uint64_t value) {  // little-endian
    for (int i = 0; i < 8; ++i) out_ += static_cast<char>(value >> (8 * i));
  }

  std::string out_;
};

}  // namespace headway::otlp
