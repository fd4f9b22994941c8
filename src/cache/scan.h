// Which files of a cache directory belong into an archive. Threads: the file system's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "cache/kind.h"

namespace headway::cache {

struct CacheFile {
  std::string path;  // in the directory
  Kind kind = Kind::source;
  std::uint64_t bytes = 0;
  bool executable = false;
};

struct Scan {
  std::vector<CacheFile> files;  // like beside like: it packs better
  std::uint64_t bytes = 0;
  std::size_t busy = 0;                // are being written by a compiler right now
  std::vector<std::string> damaged{};  // libraries that cannot be loaded (library.h)
  std::size_t unknown = 0;  // files and folders of no known kind, links and what is too large
};

// Does somebody hold torch's lock of this name, `locks/NAME.lock`? Then what has that name is not
// finished.
using IsLocked = std::function<bool(const std::string& name)>;
// Of a directory on this machine.
[[nodiscard]] IsLocked lock_probe(std::string directory);
// The name of the lock under which a compiler writes the file.
[[nodiscard]] std::string lock_name(const std::string& path);

base::Result<Scan> scan_directory(base::FileSystem& files, const std::string& directory,
                                  const IsLocked& is_locked);

}  // namespace headway::cache
