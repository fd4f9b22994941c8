#include "compile/stack_trie.h"

#include <algorithm>

#include "base/check.h"

namespace headway::compile {

std::uint32_t StackTrie::name_id(std::string_view name) {
  const auto [at, added] =
      by_name_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (added) names_.emplace_back(name);
  return at->second;
}

std::uint32_t StackTrie::child(std::uint32_t parent, std::string_view file,
                               std::string_view function, std::int64_t line) {
  HW_CHECK(parent < nodes_.size());
  if (nodes_.size() >= kNodesMax) {
    ++left_out_;
    return parent;
  }
  const std::uint32_t file_id = name_id(file), function_id = name_id(function);
  const auto [at, added] = by_call_.try_emplace({parent, file_id, function_id, line},
                                                static_cast<std::uint32_t>(nodes_.size()));
  if (added) nodes_.push_back({parent, file_id, function_id, line});
  return at->second;
}

std::vector<StackNode> StackTrie::path_to(std::uint32_t last) const {
  std::vector<StackNode> out;
  for (std::uint32_t at = last; at != 0; at = nodes_[at].parent) out.push_back(nodes_[at]);
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace headway::compile
