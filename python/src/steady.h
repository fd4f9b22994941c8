// The training loop in its rhythm: the path of every step once start-up is over.
//
// headway/_auto/loop.py says what a batch, a step and an evaluation are. Its state lives here, in
// four plain structs that Python sees as objects (RunState, Source, Fetching, LoopState), so that
// the one case that happens at every step (the next batch of the loader that is trained on, then a
// step of the optimizer that stepped last) is handled without the interpreter. Everything else is
// handed to the Python methods of the same name with `_slow` behind it, which read and write the
// same fields and call the same take_batch and close_step: nothing is kept or said twice.
//
// Why: in a real loop, with caches full of the trainer's own code, the Python form cost some 15 µs
// a step, six times what it took in a tight loop.
#pragma once

#include <Python.h>

namespace headway::python {

// Adds the types to the module. Returns false with a Python error set.
bool add_steady(PyObject* module);

}  // namespace headway::python
