// Times a program's imports: by package from the interpreter's start until its first stage, and one
// by one those that come later, inside the stages, where nobody looks for them.
//
// While it runs it stands in for builtins.__import__ as a C function, so that it leaves no frame in
// a traceback. Every uncached import is timed on a stack; a package is charged with its own modules
// only, not with those of the packages that it imports, so that the times add up. Only the thread
// that started it is timed. The interpreter lock guards all state; at most packages_max and
// late_max are kept.
#pragma once

#include <Python.h>

namespace headway::python {

// Adds import_clock_start(), import_clock_stop(), import_clock_reset(), import_clock_depth(),
// import_clock_result() -> (end of the last outermost import in CLOCK_MONOTONIC ns or 0, {package:
// ns}), which ends the first part, and import_clock_late() -> [(module, ns)] of what has been
// imported since it was last asked.
bool add_import_clock(PyObject* module);

}  // namespace headway::python
