// The C ABI as Python functions, each a bare METH_FASTCALL so that a record costs what its store
// costs plus the interpreter's call; and Phase, the context manager for one span. Any thread.
#pragma once

#include <Python.h>

namespace headway::python {

bool add_recorder(PyObject* module);

}  // namespace headway::python
