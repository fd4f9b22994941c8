#include "regress/merge.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

namespace headway::regress {
namespace {

bool together(const Mergeable& a, const Mergeable& b, std::int32_t near_days) {
  const std::int32_t apart = std::abs(a.began_day - b.began_day);
  if (apart > near_days) return false;
  return apart <= 1 || (a.low_day <= b.high_day && b.low_day <= a.high_day);
}

bool one_cause(const Mergeable& a, const Mergeable& b) {
  const Component& x = a.component;
  const Component& y = b.component;
  const bool both_counts = x.kind == Kind::failures && y.kind == Kind::failures;
  const bool neither = x.kind != Kind::failures && y.kind != Kind::failures;
  if (both_counts ? x.category == y.category : neither && x.bucket == y.bucket) return true;
  return a.stratum == b.stratum && !a.cause.empty() && a.cause == b.cause;
}

class Groups {
 public:
  explicit Groups(std::span<const Mergeable> items) : parent_(items.size()), key_(items.size()) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (std::size_t i = 0; i < items.size(); ++i) key_[i] = items[i].key;
  }
  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    if (a == b || (!key_[a].empty() && !key_[b].empty() && key_[a] != key_[b])) return;
    parent_[std::max(a, b)] = std::min(a, b);
    if (key_[std::min(a, b)].empty()) key_[std::min(a, b)] = key_[std::max(a, b)];
  }

 private:
  std::vector<std::size_t> parent_;
  std::vector<std::string> key_;  // of a root
};

}  // namespace

bool may_be_one(const Mergeable& a, const Mergeable& b, std::int32_t near_days) {
  return together(a, b, near_days) && one_cause(a, b);
}

std::vector<std::vector<std::size_t>> merge(std::span<const Mergeable> items,
                                            std::int32_t near_days) {
  Groups groups(items);
  // What is known to be one first: a newcomer must not come between.
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::size_t k = i + 1; k < items.size() && !items[i].key.empty(); ++k) {
      if (items[i].key == items[k].key) groups.join(i, k);
    }
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::size_t k = i + 1; k < items.size(); ++k) {
      if (may_be_one(items[i], items[k], near_days)) groups.join(i, k);
    }
  }
  std::map<std::size_t, std::vector<std::size_t>> out;
  for (std::size_t i = 0; i < items.size(); ++i) out[groups.root(i)].push_back(i);
  std::vector<std::vector<std::size_t>> list;
  for (auto& [root, members] : out) list.push_back(std::move(members));
  return list;
}

}  // namespace headway::regress
