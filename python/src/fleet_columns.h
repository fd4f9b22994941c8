// Facts of attempts as columns that Arrow takes over as they are: numbers as little-endian bytes,
// with a bit for each that is there; texts as lists. Which columns there are is said here and
// nowhere else: Python asks for those of no facts. Pure but for the Python objects it makes; the
// caller holds the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string_view>

#include "fleet/fact.h"

namespace headway::python {

// Text that came from outside: what is no UTF-8 is replaced.
[[nodiscard]] nanobind::object text_of(std::string_view text);

// A list of (name, type, data, valid). Types:
//   int64   data: bytes, 8 a row; valid: bytes, a bit a row, lowest first, or None: all are
//   day     as int64, 4 a row: days since 1970-01-01
//   flag    list of bool or None
//   text    list of str or None
//   texts   list of lists of str
[[nodiscard]] nanobind::list attempt_columns(std::span<const fleet::AttemptFacts> facts);
// A row for each day of each attempt. The first column, "row", says which of `facts` it is of.
[[nodiscard]] nanobind::list slice_columns(std::span<const fleet::AttemptFacts> facts);

}  // namespace headway::python
