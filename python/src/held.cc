#include "held.h"

#include <cstdint>

#include "around.h"
#include "c_method.h"
#include "headway/headway.h"

namespace headway::python {
namespace {

bool g_held = false;
bool g_starting = false;         // the hook's start-up lasts
std::uint64_t g_span_ended = 0;  // ticks; 0: none yet
PyObject* g_write = nullptr;     // Session.flush; kept for the life of the process

PyObject* hold(PyObject*, PyObject* held) {
  const int truth = PyObject_IsTrue(held);
  if (truth < 0) return nullptr;
  g_held = truth != 0;
  Py_RETURN_NONE;
}

PyObject* on_held(PyObject*, PyObject* write) {
  Py_XSETREF(g_write, Py_NewRef(write));
  Py_RETURN_NONE;
}

PyObject* starting(PyObject*, PyObject* lasts) {
  const int truth = PyObject_IsTrue(lasts);
  if (truth < 0) return nullptr;
  g_starting = truth != 0;
  Py_RETURN_NONE;
}

PyObject* span_ended(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(g_span_ended);
}

PyMethodDef kFunctions[] = {
    {"hold", hold, METH_O, "Whether records of lane 0 are held back."},
    {"on_held", on_held, METH_O, "What writes them; it says hold(False)."},
    {"starting", starting, METH_O, "Whether start-up lasts."},
    {"span_ended", span_ended, METH_NOARGS, "When the last span during it ended, in ticks."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool is_held() {
  return g_held;
}

void write_held() {
  if (!g_held || g_write == nullptr || !hook_active()) return;
  PyObject* done = PyObject_CallNoArgs(g_write);
  if (done == nullptr) hook_failed();
  Py_XDECREF(done);
}

void note_span_end() {
  if (g_starting && hook_active()) g_span_ended = hw_now();
}

bool add_held(PyObject* module) {
  return PyModule_AddFunctions(module, kFunctions) == 0;
}

}  // namespace headway::python
