#include "object_store/source.h"

#include <fmt/format.h>

#include "base/check.h"

namespace headway::object_store {

using base::Result;
using base::Status;

Result<std::span<const std::byte>> MemorySource::read(std::uint64_t offset, std::uint64_t size,
                                                      std::vector<std::byte>&) {
  HW_CHECK(offset <= data_.size() && size <= data_.size() - offset);
  return data_.subspan(offset, size);
}

Result<std::span<const std::byte>> FileSource::read(std::uint64_t offset, std::uint64_t size,
                                                    std::vector<std::byte>& buffer) {
  auto file = files_.open(path_);
  if (!file.ok()) return file.status();
  if ((*file)->bytes() != bytes_) {
    return Status::io(fmt::format("{}: {} bytes, it had {}: somebody changes it", path_,
                                  (*file)->bytes(), bytes_));
  }
  buffer.resize(size);
  if (Status status = (*file)->read(offset, buffer); !status.ok()) return status;
  return std::span<const std::byte>(buffer);
}

}  // namespace headway::object_store
