// Facts as bytes, for a store: docs/formats/fact.md. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "fleet/fact.h"

namespace headway::fleet {

inline constexpr std::uint8_t kFactVersion = 2;

// In the oldest version that can say it, so that an older collector of the same database reads on.
[[nodiscard]] std::vector<std::byte> to_bytes(const AttemptFacts& facts);
// `what` names them in an error. Bytes of a newer version are unsupported, others that make no
// sense are corrupt.
[[nodiscard]] base::Result<AttemptFacts> facts_from_bytes(std::span<const std::byte> bytes,
                                                          const std::string& what);

}  // namespace headway::fleet
