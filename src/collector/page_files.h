// The files of the page as they lie in the binary. Their list is made by tools/pack_page.py from
// web/dist.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace headway::collector {

struct PageFile {
  std::string_view path, type, etag;
  std::size_t offset, bytes;            // in the blob, as it is
  std::size_t gzip_offset, gzip_bytes;  // compressed; 0 bytes: that would be longer
};

// By path.
[[nodiscard]] std::span<const PageFile> page_files();
extern "C" const char headway_page_blob[];

}  // namespace headway::collector
