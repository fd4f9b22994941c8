// What is on disk of a job that saves rows: a whole checkpoint and deltas behind it, each of which
// needs all before it. Decides whether the next save may be one more of them, or has to be whole.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "replica/slot.h"

namespace headway::replica {

// Of deltas behind one whole checkpoint: what a restart has to read, and what is lost if one of
// them is.
inline constexpr std::uint32_t chain_max = 16;
// Where checkpoints are copied to a store, which takes whole ones only: it is behind by as many.
inline constexpr std::uint32_t chain_max_uploaded = 4;

class RowChain {
 public:
  // A whole checkpoint was committed.
  void begin(const std::string& folder, const std::string& name,
             const std::map<std::uint32_t, SlotFacts>& facts);
  // A delta was, on top of the others.
  void add(const std::string& name, const std::map<std::uint32_t, SlotFacts>& facts);
  // The checkpoint that these rows may be based on; "": a whole one has to come first. It is due
  // when one before got lost on its way, when there are `length_max`, or when together they are
  // as large as half a whole one.
  [[nodiscard]] std::string base_for(const std::string& folder,
                                     const std::map<std::uint32_t, SlotFacts>& rows,
                                     std::uint32_t length_max = chain_max) const;

 private:
  std::string folder_;
  std::string last_;
  std::map<std::uint32_t, std::uint64_t> sequences_;  // of the last one, by rank
  std::uint64_t attempt_ = 0;
  std::uint32_t length_ = 0;
  std::uint64_t whole_bytes_ = 0, bytes_ = 0;
};

}  // namespace headway::replica
