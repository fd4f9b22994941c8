// Rows of a delta, put over what was read of their table from its base.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "checkpoint/chunks.h"
#include "checkpoint/delta.h"
#include "checkpoint/reshard.h"
#include "checkpoint/table.h"

namespace headway::checkpoint {

struct Overlay {
  TableRows rows;
  std::size_t file = 0;  // index into the manifest's files
};

// Of the same type, and no wider than the table.
base::Status check_overlay(const Overlay& overlay, const TensorInfo& table,
                           const std::string& path);

// `into` holds the part `box` of the table, row-major; the rows that lie in it are replaced.
base::Status put_rows(ChunkReader& reader, const Overlay& overlay, const TensorInfo& table,
                      const Box& box, std::span<std::byte> into, const std::string& path);

}  // namespace headway::checkpoint
