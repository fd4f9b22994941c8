// Makes and checks the constant part of a journal's header. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "event/record.h"

namespace headway::record {

// Fills in what every journal has alike, then the checksum. Everything else is set by the caller.
void finish_header(event::HeaderFields& header);

// The first `bytes` of the file `path`, which may be anything: the header, or one line that names
// the field at fault and its place.
base::Result<event::HeaderFields> parse_header(const void* data, std::size_t bytes,
                                               const std::string& path);

}  // namespace headway::record
