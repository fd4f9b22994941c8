#include "base/hash.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace headway::base {
namespace {

const EVP_MD* kind_of(HashKind kind) {
  return kind == HashKind::md5 ? EVP_md5() : EVP_sha256();
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Sha256 sha256(std::span<const std::byte> data) {
  Sha256 out{};
  unsigned int bytes = 0;
  HW_CHECK(EVP_Digest(data.data(), data.size(), out.data(), &bytes, EVP_sha256(), nullptr) == 1);
  return out;
}

struct HashStream::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
};

HashStream::HashStream(HashKind kind) : kind_(kind), context_(std::make_unique<Context>()) {
  HW_CHECK(context_->md != nullptr);
  HW_CHECK(EVP_DigestInit_ex(context_->md, kind_of(kind_), nullptr) == 1);
}

HashStream::~HashStream() {
  EVP_MD_CTX_free(context_->md);
}

void HashStream::add(std::span<const std::byte> data) {
  HW_CHECK(EVP_DigestUpdate(context_->md, data.data(), data.size()) == 1);
}

void HashStream::finish(std::span<std::uint8_t> into) {
  HW_CHECK(into.size() == static_cast<std::size_t>(EVP_MD_get_size(kind_of(kind_))));
  unsigned int bytes = 0;
  HW_CHECK(EVP_DigestFinal_ex(context_->md, into.data(), &bytes) == 1 && bytes == into.size());
  HW_CHECK(EVP_DigestInit_ex(context_->md, kind_of(kind_), nullptr) == 1);
}

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

bool bytes_of_hex(std::string_view text, std::span<std::uint8_t> into) {
  if (text.size() != into.size() * 2) return false;
  for (std::size_t i = 0; i < into.size(); ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    into[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

std::optional<Sha256> sha256_of_hex(std::string_view text) {
  Sha256 out{};
  return bytes_of_hex(text, out) ? std::optional(out) : std::nullopt;
}

}  // namespace headway::base
