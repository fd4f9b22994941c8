#include "cache/keys.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"
#include "base/file.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Bio = std::unique_ptr<BIO, FreeBio>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

Bio bio_of(const std::string& text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  HW_CHECK(bio != nullptr);
  return bio;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long bytes = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(bytes)};
}

const unsigned char* uchars(std::span<const std::byte> data) {
  return reinterpret_cast<const unsigned char*>(data.data());
}

// Nobody is asked for a password on a terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

Result<PublicKey> raw_of(EVP_PKEY* key, const std::string& path) {
  PublicKey raw{};
  std::size_t bytes = raw.size();
  if (EVP_PKEY_get_id(key) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_public_key(key, raw.data(), &bytes) != 1 || bytes != raw.size()) {
    return Status::invalid(path + ": not an Ed25519 key; make one with `headway cache keygen`");
  }
  return raw;
}

}  // namespace

struct SigningKey::Held {
  Key key;
  PublicKey raw{};
};

Result<SigningKey> SigningKey::make() {
  Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (key == nullptr) return Status(base::Code::internal, "OpenSSL makes no Ed25519 key here");
  auto raw = raw_of(key.get(), "key");
  if (!raw.ok()) return raw.status();
  return SigningKey(std::make_shared<const Held>(Held{std::move(key), *raw}));
}

Result<SigningKey> SigningKey::parse(const std::string& pem, const std::string& path) {
  const Bio bio = bio_of(pem);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (key == nullptr) {
    return Status::invalid(path +
                           ": no private key without a password in PEM; `headway cache keygen` "
                           "makes one");
  }
  auto raw = raw_of(key.get(), path);
  if (!raw.ok()) return raw.status();
  return SigningKey(std::make_shared<const Held>(Held{std::move(key), *raw}));
}

Signature SigningKey::sign(std::span<const std::byte> message) const {
  const Context context(EVP_MD_CTX_new());
  Signature signature{};
  std::size_t bytes = signature.size();
  HW_CHECK(context != nullptr &&
           EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, held_->key.get()) == 1);
  HW_CHECK(EVP_DigestSign(context.get(), signature.data(), &bytes, uchars(message),
                          message.size()) == 1 &&
           bytes == signature.size());
  return signature;
}

PublicKey SigningKey::public_key() const {
  return held_->raw;
}

std::string SigningKey::private_pem() const {
  const Bio bio(BIO_new(BIO_s_secmem()));
  HW_CHECK(bio != nullptr && PEM_write_bio_PrivateKey(bio.get(), held_->key.get(), nullptr, nullptr,
                                                      0, nullptr, nullptr) == 1);
  return text_of(bio.get());
}

bool is_signed_by(const PublicKey& raw, std::span<const std::byte> message,
                  const Signature& signature) {
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw.data(), raw.size()));
  const Context context(EVP_MD_CTX_new());
  return key != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), uchars(message),
                          message.size()) == 1;
}

std::string public_pem(const PublicKey& raw) {
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw.data(), raw.size()));
  const Bio bio(BIO_new(BIO_s_mem()));
  HW_CHECK(key != nullptr && bio != nullptr && PEM_write_bio_PUBKEY(bio.get(), key.get()) == 1);
  return text_of(bio.get());
}

Result<std::vector<PublicKey>> parse_public_keys(const std::string& pem, const std::string& path) {
  if (pem.find("PRIVATE KEY-----") != std::string::npos) {
    return Status::invalid(
        fmt::format("{0}: a private key; trust its public half, which `headway cache keygen "
                    "--public {0}` prints",
                    path));
  }
  const Bio bio = bio_of(pem);
  std::vector<PublicKey> keys;
  while (keys.size() < trusted_keys_max) {
    const Key key(PEM_read_bio_PUBKEY(bio.get(), nullptr, no_password, nullptr));
    if (key == nullptr) break;
    auto raw = raw_of(key.get(), path);
    if (!raw.ok()) return raw.status();
    keys.push_back(*raw);
  }
  if (keys.empty()) return Status::invalid(path + ": no public key in PEM is in it");
  return keys;
}

Result<SigningKey> read_signing_key(const std::string& path) {
  auto text = base::read_file(path, key_file_bytes_max);
  if (!text.ok()) return text.status();
  return SigningKey::parse(*text, path);
}

Result<std::vector<PublicKey>> read_trusted_keys(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return base::errno_status(path, "open", errno);
  std::vector<std::string> files{path};
  if (S_ISDIR(info.st_mode)) {
    files.clear();
    for (const char* suffix : {".pem", ".pub"}) {
      auto found = base::list_files(path, suffix, 0, trusted_keys_max);
      if (!found.ok()) return found.status();
      files.insert(files.end(), found->begin(), found->end());
    }
  }
  std::vector<PublicKey> keys;
  for (const std::string& file : files) {
    auto text = base::read_file(file, key_file_bytes_max);
    if (!text.ok()) return text.status();
    auto found = parse_public_keys(*text, file);
    if (!found.ok()) return found.status();
    keys.insert(keys.end(), found->begin(), found->end());
  }
  return keys;
}

Status write_signing_key(const std::string& path, const SigningKey& key) {
  const base::UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid() && errno == EEXIST) {
    return Status::invalid(
        fmt::format("{0}: there is a key already; `headway cache keygen --public {0}` prints its "
                    "public half; for a new key name another file",
                    path));
  }
  if (!fd.valid()) return base::errno_status(path, "create", errno);
  const std::string pem = key.private_pem();
  if (::write(fd.get(), pem.data(), pem.size()) == static_cast<ssize_t>(pem.size()) &&
      ::fsync(fd.get()) == 0) {
    return {};
  }
  const int error = errno;
  (void)::unlink(path.c_str());
  return base::errno_status(path, "write", error);
}

}  // namespace headway::cache
