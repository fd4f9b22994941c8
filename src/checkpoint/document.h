// What a rank has saved that is no tensor: values, groups of the optimizer, the place in the data;
// text in a tensor of its own (docs/formats/checkpoint.md).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/load.h"

namespace headway::checkpoint {

inline constexpr std::uint64_t document_bytes_max = 256 << 20;

// By the tensor's name.
[[nodiscard]] bool is_document(std::string_view name);

base::Result<std::string> read_document(const CheckpointReader& reader, const TensorInfo& info);
// As it is, but that `path` says which checkpoint it is of.
base::Result<std::string> placed_document(const std::string& text, const std::string& path,
                                          const std::string& name);
// For people, without the names of tensors; `$checkpoint` says which it is of.
base::Result<std::string> pretty_document(const std::string& text, const std::string& path,
                                          const std::string& name);

struct DocumentDifference {
  std::string name;  // "optimizer.param_groups.0.lr"
  std::string a, b;  // as JSON; "": not there
};
// Without how long saves took, which is not the state. Adds the names of the parts of both.
base::Result<std::vector<DocumentDifference>> compare_documents(const std::string& a,
                                                                const std::string& b,
                                                                const std::string& place,
                                                                std::set<std::string>& parts);

}  // namespace headway::checkpoint
