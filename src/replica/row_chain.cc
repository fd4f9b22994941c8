#include "replica/row_chain.h"

#include <algorithm>

namespace headway::replica {
namespace {

std::uint64_t own_bytes(const std::map<std::uint32_t, SlotFacts>& facts) {
  std::uint64_t bytes = 0;
  for (const auto& [rank, one] : facts) bytes += one.own.bytes();
  return bytes;
}

}  // namespace

void RowChain::begin(const std::string& folder, const std::string& name,
                     const std::map<std::uint32_t, SlotFacts>& facts) {
  add(name, facts);
  folder_ = folder;
  length_ = 0;
  whole_bytes_ = own_bytes(facts);
  bytes_ = 0;
}

void RowChain::add(const std::string& name, const std::map<std::uint32_t, SlotFacts>& facts) {
  last_ = name;
  ++length_;
  bytes_ += own_bytes(facts);
  sequences_.clear();
  for (const auto& [rank, one] : facts) {
    sequences_[rank] = one.sequence;
    attempt_ = one.attempt;
  }
}

std::string RowChain::base_for(const std::string& folder,
                               const std::map<std::uint32_t, SlotFacts>& rows,
                               std::uint32_t length_max) const {
  const bool follows = std::all_of(rows.begin(), rows.end(), [this](const auto& entry) {
    const auto before = sequences_.find(entry.first);
    return before != sequences_.end() && entry.second.saved == before->second &&
           entry.second.attempt == attempt_;
  });
  const bool good = follows && folder == folder_ && rows.size() == sequences_.size() &&
                    length_ < length_max && bytes_ <= whole_bytes_ / 2;
  return good ? last_ : std::string();
}

}  // namespace headway::replica
