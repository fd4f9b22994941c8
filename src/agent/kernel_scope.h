// Whose is a line of the kernel's log? All jobs of a machine share it, and a neighbour's fault must
// not be taken for the cause of ours. Pure.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

namespace headway::agent {

struct KernelScope {
  std::vector<pid_t> ranks;         // ours
  bool numbers_hold = false;        // our process numbers are the kernel's: no namespace between
  std::optional<bool> lost_to_oom;  // did this cgroup lose processes? None: nobody counts them
};

// False only if it is surely another's: it names a process that is none of ours, or tells of a want
// of memory that, by the cgroup's counter, took nobody of ours. (What ranks have started is not
// known by number.)
[[nodiscard]] bool may_be_ours(std::string_view line, const KernelScope& scope);

}  // namespace headway::agent
