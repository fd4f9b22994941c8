#include "checkpoint/batches.h"

#include <algorithm>

#include "checkpoint/parts.h"

namespace headway::checkpoint {
namespace {

using base::Status;

constexpr unsigned kThreads = 2;

struct Part {
  std::size_t item;
  std::uint64_t index;
  Box box;
  std::size_t begin, bytes;  // in the batch's memory
};

class Reading {
 public:
  Reading(const std::vector<const CheckpointReader*>& readers, const std::vector<BatchItem>& items,
          const UseBatch& use)
      : readers_(readers), items_(items), use_(use), memory_(readers.size()) {}

  Status add(std::size_t item, std::uint64_t index, const Box& box, std::uint64_t bytes) {
    if (used_ + bytes > batch_bytes) {
      if (Status status = flush(); !status.ok()) return status;
    }
    parts_.push_back({item, index, box, used_, static_cast<std::size_t>(bytes)});
    used_ += static_cast<std::size_t>(bytes);
    return {};
  }

  Status flush() {
    for (std::size_t r = 0; r < readers_.size(); ++r) {
      if (memory_[r].size() < used_) memory_[r].resize(used_);
      std::vector<Want> wants;
      for (const Part& part : parts_) {
        wants.push_back({items_[part.item].tensor->name, part.box,
                         std::span(memory_[r]).subspan(part.begin, part.bytes)});
      }
      Status status = readers_[r]->read_all(wants, {.direct = true, .threads = kThreads});
      if (!status.ok()) return status;
    }
    std::vector<std::span<const std::byte>> data(readers_.size());
    for (const Part& part : parts_) {
      for (std::size_t r = 0; r < readers_.size(); ++r) {
        data[r] = std::span<const std::byte>(memory_[r]).subspan(part.begin, part.bytes);
      }
      if (Status status = use_(part.item, part.index, data); !status.ok()) return status;
    }
    parts_.clear();
    used_ = 0;
    return {};
  }

 private:
  const std::vector<const CheckpointReader*>& readers_;
  const std::vector<BatchItem>& items_;
  const UseBatch& use_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<Part> parts_;
  std::size_t used_ = 0;
};

}  // namespace

Status read_in_batches(const std::vector<const CheckpointReader*>& readers,
                       const std::vector<BatchItem>& items, const UseBatch& use) {
  Reading reading(readers, items, use);
  Status status;
  for (std::size_t i = 0; i < items.size() && status.ok(); ++i) {
    const DType dtype = items[i].tensor->dtype;
    std::uint64_t index = 0;
    each_part(items[i].box, element_bytes(dtype), batch_bytes, [&](const Box& part) {
      if (!status.ok()) return;
      const std::uint64_t bytes = bytes_of_shape(dtype, part.shape).value_or(0);
      status = reading.add(i, index, part, bytes);
      index += bytes / element_bytes(dtype);
    });
  }
  return status.ok() ? reading.flush() : status;
}

}  // namespace headway::checkpoint
