// Invariants that stay on in release builds. A failed check is a bug of Headway's own: it prints
// the place and the condition, then aborts. Never used for bad input, and never compiled into the
// recorder's hot path, where the worst that may happen is a counted drop.
#pragma once

namespace headway::base {

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace headway::base

#define HW_CHECK(condition)                                          \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::headway::base::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
