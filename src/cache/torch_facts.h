// Which torch a Python has: what an archive is bound to, and the text in which an answer is kept
// (docs/formats/torch-facts.md). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headway::cache {

struct TorchFacts {
  std::string torch, torch_git;
  std::string python;       // "cpython-311"
  std::string environment;  // the folder that torch's is in
  bool operator==(const TorchFacts&) const = default;
};

// An answer, and the stamp of what it depends on: it counts as long as that is the same.
struct KeptFacts {
  TorchFacts facts;
  std::string stamp;
  bool operator==(const KeptFacts&) const = default;
};

[[nodiscard]] std::string to_text(const KeptFacts& kept);
// None: damaged, of another version, or not such a text. Then Python is asked again.
[[nodiscard]] std::optional<KeptFacts> parse_facts(std::string_view text);

}  // namespace headway::cache
