// What is uploaded, in any order and by several threads: bytes that lie in memory, which are not
// copied, or in a file, of which each part is read when its turn comes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"

namespace headway::object_store {

class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
  // `size` bytes from `offset`, all of them or an error; what is returned may lie in `buffer`,
  // which is the caller's own and outlives it. Any thread.
  virtual base::Result<std::span<const std::byte>> read(std::uint64_t offset, std::uint64_t size,
                                                        std::vector<std::byte>& buffer) = 0;
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> data) : data_(data) {}
  [[nodiscard]] std::uint64_t bytes() const override { return data_.size(); }
  base::Result<std::span<const std::byte>> read(std::uint64_t offset, std::uint64_t size,
                                                std::vector<std::byte>& buffer) override;

 private:
  const std::span<const std::byte> data_;
};

// A file that nobody changes meanwhile. It is opened for each part: files are for one thread.
class FileSource final : public Source {
 public:
  FileSource(base::FileSystem& files, std::string path, std::uint64_t bytes)
      : files_(files), path_(std::move(path)), bytes_(bytes) {}
  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }
  base::Result<std::span<const std::byte>> read(std::uint64_t offset, std::uint64_t size,
                                                std::vector<std::byte>& buffer) override;

 private:
  base::FileSystem& files_;
  const std::string path_;
  const std::uint64_t bytes_;
};

}  // namespace headway::object_store
