#include "object_store/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"
#include "object_store/secret.h"

namespace headway::object_store {
namespace {

void digest(const EVP_MD* kind, std::span<const std::byte> data, std::uint8_t* into) {
  unsigned int bytes = 0;
  HW_CHECK(EVP_Digest(data.data(), data.size(), into, &bytes, kind, nullptr) == 1);
}

}  // namespace

void Secret::wipe() {
  OPENSSL_cleanse(value_.data(), value_.size());
  value_.clear();
}

Md5 md5(std::span<const std::byte> data) {
  Md5 out{};
  digest(EVP_md5(), data, out.data());
  return out;
}

Sha256 hmac_sha256(std::span<const std::uint8_t> key, std::string_view text) {
  Sha256 out{};
  unsigned int bytes = 0;
  HW_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(),
                &bytes) != nullptr);
  return out;
}

std::string base64(std::span<const std::uint8_t> bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a zero
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::optional<Md5> md5_of_hex(std::string_view text) {
  Md5 out{};
  return base::bytes_of_hex(text, out) ? std::optional(out) : std::nullopt;
}

std::string crc32c_text(std::uint32_t crc) {
  const std::array<std::uint8_t, 4> bytes = {
      static_cast<std::uint8_t>(crc >> 24), static_cast<std::uint8_t>(crc >> 16),
      static_cast<std::uint8_t>(crc >> 8), static_cast<std::uint8_t>(crc)};
  return base64(bytes);
}

std::optional<std::uint32_t> crc32c_of_text(std::string_view text) {
  if (text.size() != 8 || !text.ends_with("==")) return std::nullopt;
  std::array<std::uint8_t, 6> bytes{};
  if (EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size())) != static_cast<int>(bytes.size())) {
    return std::nullopt;
  }
  const std::uint32_t crc = static_cast<std::uint32_t>(bytes[0]) << 24 |
                            static_cast<std::uint32_t>(bytes[1]) << 16 |
                            static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
  // Other texts stand for the same bytes; only the one that everybody writes counts.
  return crc32c_text(crc) == text ? std::optional(crc) : std::nullopt;
}

}  // namespace headway::object_store
