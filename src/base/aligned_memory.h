// Memory that direct I/O can use. It grows, and forgets its content when it does. One owner.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

#include "base/check.h"
#include "base/file_system.h"

namespace headway::base {

class AlignedMemory {
 public:
  // At least `bytes`; what was there stays only where nothing had to grow.
  std::span<std::byte> take(std::size_t bytes) {
    if (bytes > size_) {
      const std::size_t rounded =
          (bytes + direct_alignment - 1) / direct_alignment * direct_alignment;
      data_.reset(static_cast<std::byte*>(std::aligned_alloc(direct_alignment, rounded)));
      HW_CHECK(data_ != nullptr);
      size_ = rounded;
    }
    return {data_.get(), bytes};
  }
  [[nodiscard]] const std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace headway::base
