// Ed25519 keys as PEM files, and the signature under an archive. What an archive holds is executed
// by whoever unpacks it, so it counts only when somebody trusted has signed it. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/status.h"

namespace headway::cache {

using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

inline constexpr std::size_t key_file_bytes_max = 64 << 10;
inline constexpr std::size_t trusted_keys_max = 10'000;

// A private key. Its bytes never leave it but for its own PEM text.
class SigningKey {
 public:
  static base::Result<SigningKey> make();
  static base::Result<SigningKey> parse(const std::string& pem, const std::string& path);

  [[nodiscard]] Signature sign(std::span<const std::byte> message) const;
  [[nodiscard]] PublicKey public_key() const;
  [[nodiscard]] std::string private_pem() const;

 private:
  struct Held;
  explicit SigningKey(std::shared_ptr<const Held> held) : held_(std::move(held)) {}
  std::shared_ptr<const Held> held_;
};

[[nodiscard]] bool is_signed_by(const PublicKey& key, std::span<const std::byte> message,
                                const Signature& signature);

[[nodiscard]] std::string public_pem(const PublicKey& key);
// One key or several in one text; a private key is refused with a word on what it is.
base::Result<std::vector<PublicKey>> parse_public_keys(const std::string& pem,
                                                       const std::string& path);

// A file with a private key.
base::Result<SigningKey> read_signing_key(const std::string& path);
// A file of public keys, or a folder of such files (*.pem, *.pub).
base::Result<std::vector<PublicKey>> read_trusted_keys(const std::string& path);
// A new file that only its owner reads.
base::Status write_signing_key(const std::string& path, const SigningKey& key);

}  // namespace headway::cache
