// SHA-256 and its text, by OpenSSL. Pure; any thread, a stream by one. A library of its own
// (headway_base_hash), so that only who hashes needs OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headway::base {

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 sha256(std::span<const std::byte> data);

// The digest of what comes in pieces.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;

  void add(std::span<const std::byte> data);
  [[nodiscard]] Sha256 finish();  // once

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

[[nodiscard]] std::string hex(std::span<const std::uint8_t> bytes);  // lower case
// None: not the hexadecimal digits, of any case, of exactly one digest.
[[nodiscard]] std::optional<Sha256> sha256_of_hex(std::string_view text);

}  // namespace headway::base
