// Digests and text forms that the protocol wants besides SHA-256 (base/hash.h), by OpenSSL. Pure;
// any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace headway::object_store {

using base::hex;
using base::Sha256;
using base::sha256;
using Md5 = std::array<std::uint8_t, 16>;

[[nodiscard]] Sha256 hmac_sha256(std::span<const std::uint8_t> key, std::string_view text);
// Not against an attacker: what servers of this protocol give as the tag of a part.
[[nodiscard]] Md5 md5(std::span<const std::byte> data);

[[nodiscard]] std::string base64(std::span<const std::uint8_t> bytes);
// None: not hexadecimal digits of exactly one MD5.
[[nodiscard]] std::optional<Md5> md5_of_hex(std::string_view text);

// As the headers have it: the number's four bytes, the highest first, in base64.
[[nodiscard]] std::string crc32c_text(std::uint32_t crc);
[[nodiscard]] std::optional<std::uint32_t> crc32c_of_text(std::string_view text);

}  // namespace headway::object_store
