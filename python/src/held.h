// What of the training thread's records is held back, so that a thousand constructions in a row
// are one span (headway/_auto/session.py). Whoever records something of that thread calls
// write_held() first: a record that comes too late would make the span before it look longer.
//
// The interpreter lock guards all state.
#pragma once

#include <Python.h>

namespace headway::python {

// Adds hold(bool), on_held(callable), starting(bool) and span_ended() to the module. Returns false
// with a Python error set.
bool add_held(PyObject* module);

// True while something is held back.
bool is_held();

// On the training thread, before it records: what is held back is written. A fault in that turns
// the hook off and never reaches the script.
void write_held();

// A span of the script's own, or of a part of ours that is no hook, has just ended: what is left of
// the start-up begins here.
void note_span_end();

}  // namespace headway::python
