// Everything of an archive but its blocks: the head, the binding, the index and the seal over them.
// Since the index has the digest of every block, the seal covers every byte of the file. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cache/binding.h"
#include "cache/format.h"
#include "cache/index.h"
#include "cache/keys.h"

namespace headway::cache {

// Where the parts of a file of `file_bytes` lie, from its first 64 bytes.
struct Layout {
  std::uint64_t blocks_begin = sizeof(HeadRecord);
  std::uint64_t binding_begin = 0;
  std::uint64_t tail_bytes = 0;  // of binding, index and seal, which end the file
  HeadRecord head{};
};
base::Result<Layout> parse_head(std::string_view first_bytes, std::uint64_t file_bytes,
                                const std::string& path);

struct Front {
  Binding binding;
  Index index;
  // Who signed it, and rightly so; none: nobody.
  std::optional<PublicKey> signer;
};
// `tail`: the layout's tail_bytes. A seal or a signature that does not fit is an error here;
// whether the signer is trusted is check_trust's to say.
base::Result<Front> parse_front(const Layout& layout, std::string_view tail,
                                const std::string& path);

struct FrontBytes {
  std::string head;
  std::string tail;
};
// `key`, where given, signs.
[[nodiscard]] FrontBytes to_bytes(const Binding& binding, const Index& index,
                                  const SigningKey* key);

struct Trust {
  std::vector<PublicKey> keys;
  bool unsigned_too = false;  // somebody said so in so many words
  // For who is refused: where a key would be trusted, and whether --unsigned can be said here.
  std::string place = "a file of trusted keys";
  bool offers_unsigned = false;
};
base::Status check_trust(const Front& front, const Trust& trust, const std::string& path);
// As `headway cache ls` shows a key: the first sixteen digits.
[[nodiscard]] std::string short_name(const PublicKey& key);

}  // namespace headway::cache
