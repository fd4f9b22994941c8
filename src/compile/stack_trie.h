// The calls that led to compilations, as a tree: stacks share what they have in common, so that
// thousands of deep ones cost little. Node 0 is the root, above every first call. One owner, one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace headway::compile {

struct StackNode {
  std::uint32_t parent = 0;
  std::uint32_t file = 0, function = 0;  // numbers of their names
  std::int64_t line = 0;
};

class StackTrie {
 public:
  static constexpr std::size_t kNodesMax = 100'000;

  StackTrie() : nodes_(1), names_(1) {}
  // The call below `parent`. `parent` itself where there is no more room: a stack that is cut.
  std::uint32_t child(std::uint32_t parent, std::string_view file, std::string_view function,
                      std::int64_t line);

  [[nodiscard]] const std::vector<StackNode>& nodes() const { return nodes_; }
  // The calls from the first one to `last`; none for the root.
  [[nodiscard]] std::vector<StackNode> path_to(std::uint32_t last) const;
  [[nodiscard]] const std::string& name(std::uint32_t id) const { return names_[id]; }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  std::uint32_t name_id(std::string_view name);

  std::vector<StackNode> nodes_;
  std::vector<std::string> names_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>, std::uint32_t>
      by_call_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::uint64_t left_out_ = 0;
};

}  // namespace headway::compile
