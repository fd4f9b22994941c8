// A cache directory into an archive. Files are read, hashed and compressed by several threads; the
// archive's bytes do not depend on how many.
#pragma once

#include <cstdint>
#include <string>

#include "base/file_system.h"
#include "base/status.h"
#include "cache/archive.h"
#include "cache/binding.h"
#include "cache/keys.h"
#include "cache/scan.h"

namespace headway::cache {

struct PackOptions {
  std::size_t threads = 2;
  const SigningKey* key = nullptr;  // none: not signed
  Progress progress{};              // in bytes of files
};

struct Packed {
  std::size_t entries = 0;
  std::size_t contents = 0;
  std::uint64_t raw_bytes = 0;   // of the entries
  std::uint64_t file_bytes = 0;  // of the archive
  std::size_t vanished = 0;      // files that went away, or grew, while they were read
  std::string content;           // hex(content_identity)
};

// `scan` of `directory`. The archive is there whole or not at all.
base::Result<Packed> pack_directory(base::FileSystem& files, const std::string& directory,
                                    const Scan& scan, const Binding& binding,
                                    base::FileSystem& to_files, const std::string& path,
                                    const PackOptions& options);

}  // namespace headway::cache
