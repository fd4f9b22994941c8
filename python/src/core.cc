// headway._core: the C ABI and the hook's own tools for Python. What is hot is plain C API
// (recorder.cc, around.cc, held.cc, steady.cc); what is comfortable is nanobind (journal.cc).
#include <nanobind/nanobind.h>

#include "around.h"
#include "headway/headway.h"
#include "held.h"
#include "import_clock.h"
#include "journal.h"
#include "recorder.h"
#include "steady.h"

NB_MODULE(_core, module) {
  using namespace headway::python;
  PyObject* raw = module.ptr();
  if (!add_recorder(raw) || !add_around(raw) || !add_held(raw) || !add_import_clock(raw) ||
      !add_steady(raw)) {
    throw nanobind::python_error();
  }
  add_journal(module);
  // For headway._replica, which learns on a thread of its own that a step is durable.
  module.attr("hw_checkpoint") = nanobind::steal(
      PyCapsule_New(reinterpret_cast<void*>(&hw_checkpoint), "headway.hw_checkpoint", nullptr));
}
