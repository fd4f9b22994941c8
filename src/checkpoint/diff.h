// What two checkpoints have in common and what not: facts, tensors, values. However many ranks
// saved them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/document.h"
#include "checkpoint/load.h"
#include "checkpoint/values.h"
#include "checkpoint/verify.h"

namespace headway::checkpoint {

struct FactDifference {
  std::string name;  // "step"
  std::string a, b;
};
struct KindDifference {  // of one tensor: they cannot be compared by value
  std::string name;
  std::string a, b;  // "F32 [4, 8]"
};
struct ValueDifference {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 0;  // of the tensor
  Difference difference;
  std::vector<std::uint64_t> first;  // index, one number a dimension
};

struct CheckpointDiff {
  std::vector<FactDifference> facts;
  std::vector<std::string> only_a, only_b;
  std::vector<KindDifference> kinds;
  std::vector<ValueDifference> values;
  std::vector<std::pair<std::string, DocumentDifference>> documents;  // the tensor's name, what
  std::set<std::string> document_parts;  // "values", "scheduler": of documents that were compared
  std::size_t same = 0;                  // tensors that are equal to the last bit
  // Facts may differ: two checkpoints of one state at other times hold the same tensors.
  [[nodiscard]] bool same_tensors() const {
    return only_a.empty() && only_b.empty() && kinds.empty() && values.empty() && documents.empty();
  }
};

// Of tensors whose names begin with `only`. `progress`: bytes read of one of the two.
base::Result<CheckpointDiff> diff_checkpoints(const CheckpointReader& a, const CheckpointReader& b,
                                              const std::string& only = "",
                                              const Progress& progress = {});
// "F32 [4, 8]".
[[nodiscard]] std::string kind_text(const TensorInfo& info);

}  // namespace headway::checkpoint
