#include "base/hash.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace headway::base {
namespace {

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

struct Sha256Stream::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
};

Sha256Stream::Sha256Stream() : context_(std::make_unique<Context>()) {
  HW_CHECK(context_->md != nullptr);
  HW_CHECK(EVP_DigestInit_ex(context_->md, EVP_sha256(), nullptr) == 1);
}

Sha256Stream::~Sha256Stream() {
  EVP_MD_CTX_free(context_->md);
}

void Sha256Stream::add(std::span<const std::byte> data) {
  HW_CHECK(EVP_DigestUpdate(context_->md, data.data(), data.size()) == 1);
}

Sha256 Sha256Stream::finish() {
  Sha256 out{};
  unsigned int bytes = 0;
  HW_CHECK(EVP_DigestFinal_ex(context_->md, out.data(), &bytes) == 1 && bytes == out.size());
  return out;
}

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

std::optional<Sha256> sha256_of_hex(std::string_view text) {
  Sha256 out{};
  if (text.size() != out.size() * 2) return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return out;
}

}  // namespace headway::base
