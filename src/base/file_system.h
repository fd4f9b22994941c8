// The file calls of whatever has to survive a crash, behind one seam: the real ones, and in tests a
// file system that fails or loses its power at any of them (sim_file_system.h). No call here is
// durable by itself: contents are after sync(), names after sync_folder(). One file is used by one
// thread; different files and the FileSystem itself by any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace headway::base {

class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  virtual ~OutputFile() = default;

  // All of it, or an error.
  virtual Status write(std::uint64_t offset, std::span<const std::byte> data) = 0;
  // What has been written there will not change: the disk may begin with it, so that sync() has
  // less to wait for. Promises nothing.
  virtual void begin_write_back(std::uint64_t offset, std::uint64_t bytes) {
    (void)offset, (void)bytes;
  }
  virtual Status sync() = 0;
  // Some file systems tell of a failed write only now.
  virtual Status close() = 0;
};

class InputFile {
 public:
  InputFile() = default;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  virtual ~InputFile() = default;

  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
  // All that is asked for, or an error: a file that ends too early is one.
  virtual Status read(std::uint64_t offset, std::span<std::byte> into) = 0;
};

struct FolderEntry {
  std::string name;
  bool is_folder = false;        // of a link: what it leads to
  bool is_link = false;          // a symbolic one
  std::uint64_t bytes = 0;       // of a file
  bool is_executable = false;    // by its owner
  std::int64_t modified_ns = 0;  // real time; 0: not known
  bool is_special = false;       // neither a file nor a folder: a pipe, a socket
};

struct CreateOptions {
  std::uint64_t bytes = 0;  // to allocate ahead, so that a full disk shows before the work is done
  // Past the page cache, where the file system can. Data that is aligned to direct_alignment, in
  // memory and in the file, goes this way; the rest goes through the cache.
  bool direct = false;
  bool executable = false;  // by whoever may read it
};
inline constexpr std::size_t direct_alignment = 4096;

class FileSystem {
 public:
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  virtual ~FileSystem() = default;

  // A new file; one that is there already is an error.
  virtual Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                                     const CreateOptions& options) = 0;
  // One that is there, to be written further; what is in it stays.
  virtual Result<std::unique_ptr<OutputFile>> reopen(const std::string& path) = 0;
  virtual Result<std::unique_ptr<InputFile>> open(const std::string& path) = 0;
  // To be read past the page cache, where the file system can: what is on the disk, and nobody
  // else's pages have to go for it. Pays for large reads into aligned memory (aligned_memory.h).
  virtual Result<std::unique_ptr<InputFile>> open_direct(const std::string& path) {
    return open(path);
  }
  // One that is there already is as good.
  virtual Status make_folder(const std::string& path) = 0;
  // Takes the place of whatever file `to` was; a folder only that of an empty one.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove_file(const std::string& path) = 0;
  virtual Status remove_folder(const std::string& path) = 0;  // an empty one
  virtual Status sync_folder(const std::string& path) = 0;
  // Sorted by name; not_found where there is no such folder.
  virtual Result<std::vector<FolderEntry>> list(const std::string& path) = 0;
};

FileSystem& real_file_system();

// The whole of a file of at most bytes_max bytes.
Result<std::string> read_all(FileSystem& files, const std::string& path, std::uint64_t bytes_max);
// Old or new, never half, and durable: a temporary beside it, renamed. The folder is synced.
Status replace_file(FileSystem& files, const std::string& path, std::span<const std::byte> content);

[[nodiscard]] std::string folder_of(const std::string& path);
[[nodiscard]] inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace headway::base
