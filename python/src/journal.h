// read_journal(path): a journal's records as Python tuples, for tests and notebooks.
#pragma once

#include <nanobind/nanobind.h>

namespace headway::python {

void add_journal(nanobind::module_& module);

}  // namespace headway::python
