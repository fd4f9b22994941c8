// What the files of plain C API share.
#pragma once

#include <Python.h>

#include <cstdint>

namespace headway::python {

using Args = PyObject* const*;

// A function of any of CPython's signatures, as a method table wants it.
template <typename Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// `data` may be None: not known, HW_NO_DATA. False with a Python error set.
bool to_data(PyObject* object, std::int64_t& data);

}  // namespace headway::python
