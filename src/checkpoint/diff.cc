#include "checkpoint/diff.h"

#include <fmt/format.h>

#include "checkpoint/batches.h"
#include "checkpoint/parts.h"

namespace headway::checkpoint {
namespace {

using base::Result;
using base::Status;

void compare_facts(const Manifest& a, const Manifest& b, CheckpointDiff& diff) {
  const auto fact = [&](const char* name, const auto& left, const auto& right) {
    if (left != right) {
      diff.facts.push_back({name, fmt::format("{}", left), fmt::format("{}", right)});
    }
  };
  fact("step", a.step, b.step);
  fact("data", a.data, b.data);
  fact("world_size", a.world_size, b.world_size);
  fact("job", a.job, b.job);
  fact("attempt", a.attempt, b.attempt);
  fact("time_ns", a.time_ns, b.time_ns);
}

std::vector<std::uint64_t> place_of(std::uint64_t index, const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> place(shape.size(), 0);
  for (std::size_t d = shape.size(); d-- > 0;) {
    place[d] = index % shape[d];
    index /= shape[d];
  }
  return place;
}

// Texts of two lengths, perhaps, and what they say may be the same.
Status compare_states(const CheckpointReader& a, const TensorInfo& in_a, const CheckpointReader& b,
                      const TensorInfo& in_b, CheckpointDiff& diff) {
  auto left = read_document(a, in_a);
  if (!left.ok()) return left.status();
  auto right = read_document(b, in_b);
  if (!right.ok()) return right.status();
  auto found = compare_documents(*left, *right, a.path() + " and " + b.path() + ": " + in_a.name,
                                 diff.document_parts);
  if (!found.ok()) return found.status();
  if (found->empty()) ++diff.same;
  for (DocumentDifference& each : *found) diff.documents.emplace_back(in_a.name, std::move(each));
  return {};
}

}  // namespace

std::string kind_text(const TensorInfo& info) {
  return fmt::format("{} [{}]", name_of(info.dtype), fmt::join(info.shape, ", "));
}

Result<CheckpointDiff> diff_checkpoints(const CheckpointReader& a, const CheckpointReader& b,
                                        const std::string& only, const Progress& progress) {
  CheckpointDiff diff;
  compare_facts(a.manifest(), b.manifest(), diff);
  std::vector<BatchItem> both;
  for (const TensorInfo& info : a.tensors()) {
    if (!info.name.starts_with(only)) continue;
    const TensorInfo* other = b.find(info.name);
    if (other == nullptr) {
      diff.only_a.push_back(info.name);
    } else if (is_document(info.name)) {
      Status status = compare_states(a, info, b, *other, diff);
      if (!status.ok()) return status;
      if (progress) progress(info.bytes);
    } else if (other->dtype != info.dtype || other->shape != info.shape) {
      diff.kinds.push_back({info.name, kind_text(info), kind_text(*other)});
    } else {
      both.push_back({&info, whole_box(info.shape)});
    }
  }
  for (const TensorInfo& info : b.tensors()) {
    if (info.name.starts_with(only) && a.find(info.name) == nullptr)
      diff.only_b.push_back(info.name);
  }
  std::vector<Difference> differences(both.size());
  const Status status = read_in_batches({&a, &b}, both,
                                        [&](std::size_t item, std::uint64_t index,
                                            const std::vector<std::span<const std::byte>>& data) {
                                          add_difference(both[item].tensor->dtype, data[0], data[1],
                                                         index, differences[item]);
                                          if (progress) progress(data[0].size());
                                          return Status();
                                        });
  if (!status.ok()) return status;
  for (std::size_t i = 0; i < both.size(); ++i) {
    const TensorInfo& info = *both[i].tensor;
    if (!differences[i].first) {
      ++diff.same;
      continue;
    }
    diff.values.push_back({info.name, info.dtype, info.shape,
                           info.bytes / element_bytes(info.dtype), differences[i],
                           place_of(*differences[i].first, info.shape)});
  }
  return diff;
}

}  // namespace headway::checkpoint
