// A few threads for one piece of work in many parts: code that waits where it stands is code that
// can be tested step by step.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "base/status.h"

namespace headway::base {

inline constexpr std::size_t workers_max = 64;

// Calls work(worker, index) for every index below `count`, on at most `workers` threads; worker
// numbers are below that. After the first error nothing new is begun, `stop` is set, and that error
// is returned.
using Work = std::function<Status(std::size_t worker, std::size_t index)>;
Status in_parallel(std::size_t count, std::size_t workers, std::atomic<bool>& stop,
                   const Work& work);

}  // namespace headway::base
