// SHA-256, MD5 and their text, by OpenSSL. Pure; any thread, a stream by one. A library of its own
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

enum class HashKind : std::uint8_t {
  sha256,
  md5,  // not against an attacker: what others name their pieces by
};

// The digest of what comes in pieces.
class HashStream {
 public:
  explicit HashStream(HashKind kind);
  ~HashStream();
  HashStream(const HashStream&) = delete;
  HashStream& operator=(const HashStream&) = delete;

  void add(std::span<const std::byte> data);
  // As long as the digest is: 32 or 16 bytes. From then on it is as new.
  void finish(std::span<std::uint8_t> into);

 private:
  struct Context;
  const HashKind kind_;
  std::unique_ptr<Context> context_;
};

class Sha256Stream {
 public:
  void add(std::span<const std::byte> data) { stream_.add(data); }
  [[nodiscard]] Sha256 finish() {
    Sha256 out{};
    stream_.finish(out);
    return out;
  }

 private:
  HashStream stream_{HashKind::sha256};
};

[[nodiscard]] std::string hex(std::span<const std::uint8_t> bytes);  // lower case
// False: not the hexadecimal digits, of any case, of exactly so many bytes.
[[nodiscard]] bool bytes_of_hex(std::string_view text, std::span<std::uint8_t> into);
// None: not those of exactly one digest.
[[nodiscard]] std::optional<Sha256> sha256_of_hex(std::string_view text);

}  // namespace headway::base
