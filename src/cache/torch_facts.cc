#include "cache/torch_facts.h"

#include <fmt/format.h>

#include <algorithm>

namespace headway::cache {
namespace {

constexpr std::string_view kFirstLine = "headway torch facts 1\n";

// Calls see(name, value) with each field, in the order of the text.
template <typename Kept, typename See>
bool all_fields(Kept& kept, const See& see) {
  return see("stamp", kept.stamp) && see("torch", kept.facts.torch) &&
         see("torch_git", kept.facts.torch_git) && see("python", kept.facts.python) &&
         see("environment", kept.facts.environment);
}

}  // namespace

std::string to_text(const KeptFacts& kept) {
  std::string text(kFirstLine);
  (void)all_fields(kept, [&](std::string_view name, const std::string& value) {
    text += fmt::format("{}={}\n", name, value);
    return true;
  });
  return text;
}

std::optional<KeptFacts> parse_facts(std::string_view text) {
  if (!text.starts_with(kFirstLine)) return std::nullopt;
  text.remove_prefix(kFirstLine.size());
  KeptFacts kept;
  const bool whole = all_fields(kept, [&](std::string_view name, std::string& value) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || !text.starts_with(name)) return false;
    std::string_view line = text.substr(name.size(), end - std::min(end, name.size()));
    if (!line.starts_with('=')) return false;
    value = line.substr(1);
    text.remove_prefix(end + 1);
    return true;
  });
  const bool useful = !kept.facts.torch.empty() && !kept.facts.environment.empty();
  return whole && text.empty() && useful ? std::optional(std::move(kept)) : std::nullopt;
}

}  // namespace headway::cache
