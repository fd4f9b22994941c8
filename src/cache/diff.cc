#include "cache/diff.h"

#include <map>
#include <string_view>

namespace headway::cache {

ArchiveDifference difference(const Index& a, const Index& b) {
  std::map<std::string_view, std::pair<const Entry*, const Entry*>> paths;
  for (const Entry& entry : a.entries) paths[entry.path].first = &entry;
  for (const Entry& entry : b.entries) paths[entry.path].second = &entry;
  ArchiveDifference found;
  for (const auto& [path, both] : paths) {
    const auto [left, right] = both;
    if (right == nullptr) {
      found.only_a.push_back(left);
    } else if (left == nullptr) {
      found.only_b.push_back(right);
    } else if (a.contents[left->content].sha256 != b.contents[right->content].sha256 ||
               left->executable != right->executable || left->relocated != right->relocated) {
      found.others.push_back(both);
    } else {
      ++found.same;
    }
  }
  return found;
}

KindSums sums_of(const Index& index) {
  KindSums sums{};
  for (const Entry& entry : index.entries) {
    KindSum& sum = sums[static_cast<std::size_t>(entry.kind) - 1];
    ++sum.entries;
    sum.bytes += index.contents[entry.content].bytes;
  }
  return sums;
}

}  // namespace headway::cache
