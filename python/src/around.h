// Around: a transparent wrapper for a Python callable, the one tool with which the hook watches a
// trainer. `enter` runs before the wrapped callable and `leave` after it.
//
// Why it is not written in Python: a Python wrapper would put a frame of its own into the script's
// tracebacks and shift the `stacklevel` of its warnings. Around has no frame. Attributes, repr,
// signature, source, pickling and `isinstance(x, FunctionType)` all answer as the original would.
//
// The callbacks run only while the hook is enabled and, unless `any_thread` is given, only on the
// training thread. An exception in a callback never reaches the script: it is handed to the report
// function and the hook is turned off. The interpreter lock guards all state.
#pragma once

#include <Python.h>

namespace headway::python {

// Adds the type Around and the functions hook_enable(bool), hook_enabled(), hook_thread() and
// hook_report(callable) to the module. Returns false with a Python error set.
bool add_around(PyObject* module);

// True on the training thread while the hook is enabled.
bool hook_active();

// With a Python error set by one of the hook's own callbacks: tells the report function, clears the
// error and turns the hook off.
void hook_failed();

}  // namespace headway::python
