#include "cache/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/file_system.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

constexpr std::string_view kSigned = "headway cache archive 1\n";
constexpr std::size_t kShortDigits = 16;

// With the key: one that somebody put in its place is another seal.
base::Sha256 digest_of(std::string_view head, std::string_view binding, std::string_view index,
                       const PublicKey& key) {
  base::Sha256Stream stream;
  for (const std::string_view part : {head, binding, index}) stream.add(base::bytes_of(part));
  stream.add(std::as_bytes(std::span(key)));
  return stream.finish();
}

std::string message_of(const base::Sha256& digest) {
  return std::string(kSigned) +
         std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

std::string_view view_of(const HeadRecord& head) {
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

// None: there is no signature. One that does not fit is an error.
Result<std::optional<PublicKey>> signer_of(const SealRecord& seal, const std::string& path) {
  if (seal.public_key == PublicKey{}) {
    if (seal.signature == Signature{}) return std::optional<PublicKey>();
    return Status::corrupt(path + ": a signature of nobody; take another copy of the archive");
  }
  const std::string message = message_of(seal.digest);
  if (is_signed_by(seal.public_key, base::bytes_of(message), seal.signature)) {
    return std::optional(seal.public_key);
  }
  return Status::corrupt(path + ": its signature is wrong; take another copy of the archive");
}

}  // namespace

Result<Layout> parse_head(std::string_view first_bytes, std::uint64_t file_bytes,
                          const std::string& path) {
  const auto bad = [&](std::string_view what) {
    return Status::corrupt(fmt::format("{}: {}", path, what));
  };
  Layout layout;
  HeadRecord& head = layout.head;
  const std::size_t there = std::min(first_bytes.size(), sizeof head);
  std::memcpy(&head, first_bytes.data(), there);
  if (there < head.magic.size() || head.magic != archive_magic) {
    return bad("not a cache archive of Headway");
  }
  if (there < sizeof head) return bad("cut off in its head; take another copy of the archive");
  if (head.version < archive_version_min || head.version > archive_version || head.flags != 0) {
    return Status(
        base::Code::unsupported,
        fmt::format("{}: version {} with flags {:#x}, this Headway reads versions up to {}: take "
                    "a newer one",
                    path, head.version, head.flags, archive_version));
  }
  if (head.zero != decltype(head.zero){}) return bad("bytes of its head that must be zero are not");
  if (head.blocks_bytes > archive_bytes_max || head.index_bytes > index_bytes_max ||
      head.binding_bytes > binding_bytes_max) {
    return bad("sizes in its head that no archive has");
  }
  layout.binding_begin = layout.blocks_begin + head.blocks_bytes;
  layout.tail_bytes = head.binding_bytes + head.index_bytes + sizeof(SealRecord);
  if (layout.binding_begin + layout.tail_bytes != file_bytes) {
    return bad(fmt::format("{} bytes long, its head says {}; take another copy of the archive",
                           file_bytes, layout.binding_begin + layout.tail_bytes));
  }
  return layout;
}

Result<Front> parse_front(const Layout& layout, std::string_view tail, const std::string& path) {
  HW_CHECK(tail.size() == layout.tail_bytes);
  const std::string_view binding = tail.substr(0, layout.head.binding_bytes);
  const std::string_view index = tail.substr(binding.size(), layout.head.index_bytes);
  SealRecord seal{};
  std::memcpy(&seal, tail.data() + binding.size() + index.size(), sizeof seal);
  if (digest_of(view_of(layout.head), binding, index, seal.public_key) != seal.digest) {
    return Status::corrupt(path + ": damaged: its seal does not fit; take another copy of it");
  }
  auto signer = signer_of(seal, path);
  if (!signer.ok()) return signer.status();
  auto parsed_binding = parse_binding(binding, path);
  if (!parsed_binding.ok()) return parsed_binding.status();
  auto parsed_index = parse_index(index, path);
  if (!parsed_index.ok()) return parsed_index.status();
  if (parsed_index->stored_bytes() != layout.head.blocks_bytes) {
    return Status::corrupt(path + ": its blocks are not as long as its head says");
  }
  return Front{std::move(*parsed_binding), std::move(*parsed_index), *signer};
}

FrontBytes to_bytes(const Binding& binding, const Index& index, const SigningKey* key) {
  const std::string binding_text = to_text(binding);
  const std::string index_bytes = to_bytes(index);
  HW_CHECK(binding_text.size() <= binding_bytes_max && index.entries.size() <= entries_max);
  const HeadRecord head{.magic = archive_magic,
                        .version = archive_version,
                        .flags = 0,
                        .blocks_bytes = index.stored_bytes(),
                        .index_bytes = index_bytes.size(),
                        .binding_bytes = static_cast<std::uint32_t>(binding_text.size()),
                        .zero = {}};
  SealRecord seal{};
  if (key != nullptr) seal.public_key = key->public_key();
  seal.digest = digest_of(view_of(head), binding_text, index_bytes, seal.public_key);
  if (key != nullptr) seal.signature = key->sign(base::bytes_of(message_of(seal.digest)));
  std::string tail = binding_text + index_bytes;
  tail.append(reinterpret_cast<const char*>(&seal), sizeof seal);
  return {std::string(view_of(head)), std::move(tail)};
}

Status check_trust(const Front& front, const Trust& trust, const std::string& path) {
  if (front.signer && std::ranges::find(trust.keys, *front.signer) != trust.keys.end()) return {};
  if (trust.unsigned_too) return {};
  const std::string_view all_the_same = trust.offers_unsigned ? ", or say --unsigned" : "";
  if (!front.signer) {
    return Status::invalid(
        fmt::format("{}: not signed, and what is in it would be executed; sign it (`headway cache "
                    "keygen`, then pack){}",
                    path, all_the_same));
  }
  return Status::invalid(
      fmt::format("{}: signed by {}, whom nobody here trusts; put that public key (`headway cache "
                  "keygen --public` prints it where it was signed) into {}{}",
                  path, short_name(*front.signer), trust.place, all_the_same));
}

std::string short_name(const PublicKey& key) {
  return base::hex(key).substr(0, kShortDigits);
}

}  // namespace headway::cache
