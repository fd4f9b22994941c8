// How much more memory a job may take on this machine: the least of what is free, what the folder
// in shared memory may grow by, and what the control group allows.
#pragma once

#include <cstdint>
#include <string>

namespace headway::replica {

[[nodiscard]] std::uint64_t memory_room(const std::string& folder);

}  // namespace headway::replica
