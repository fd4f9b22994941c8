#include "recorder.h"

#include <cstdint>

#include "c_method.h"
#include "evaluation_clock.h"
#include "headway/headway.h"
#include "held.h"

namespace headway::python {
namespace {

EvaluationClock evaluation_clock;

bool arity(const char* name, Py_ssize_t count, Py_ssize_t wanted) {
  if (count == wanted) return true;
  PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments (%zd given)", name, wanted, count);
  return false;
}

bool failed(long long value) {
  return value == -1 && PyErr_Occurred() != nullptr;
}

bool to_ticks(PyObject* object, std::uint64_t& ticks) {
  ticks = PyLong_AsUnsignedLongLong(object);
  return !(ticks == static_cast<std::uint64_t>(-1) && PyErr_Occurred() != nullptr);
}

PyObject* begin(PyObject*, PyObject* phase) {
  const long id = PyLong_AsLong(phase);
  if (failed(id)) return nullptr;
  write_held();
  hw_begin(static_cast<std::uint16_t>(id));
  evaluation_clock.begin(static_cast<std::uint16_t>(id));
  Py_RETURN_NONE;
}

PyObject* end(PyObject*, PyObject* phase) {
  const long id = PyLong_AsLong(phase);
  if (failed(id)) return nullptr;
  write_held();
  hw_end(static_cast<std::uint16_t>(id));
  evaluation_clock.end(static_cast<std::uint16_t>(id));
  note_span_end();
  Py_RETURN_NONE;
}

template <auto kRecord>
PyObject* at(PyObject*, Args args, Py_ssize_t count) {
  std::uint64_t ticks = 0;
  if (!arity("at", count, 2) || !to_ticks(args[1], ticks)) return nullptr;
  const long id = PyLong_AsLong(args[0]);
  if (failed(id)) return nullptr;
  kRecord(static_cast<std::uint16_t>(id), ticks);
  Py_RETURN_NONE;
}

PyObject* end_compile(PyObject*, PyObject* warm) {
  const int truth = PyObject_IsTrue(warm);
  if (truth < 0) return nullptr;
  hw_end_compile(truth);
  Py_RETURN_NONE;
}

template <auto kRecord>
PyObject* step_record(PyObject*, Args args, Py_ssize_t count) {
  std::int64_t data = 0;
  if (!arity("step", count, 2) || !to_data(args[1], data)) return nullptr;
  const long long step = PyLong_AsLongLong(args[0]);
  if (failed(step)) return nullptr;
  write_held();
  kRecord(step, data);
  Py_RETURN_NONE;
}

PyObject* checkpoint(PyObject*, Args args, Py_ssize_t count) {
  std::int64_t data = 0;
  if (!arity("checkpoint", count, 3) || !to_data(args[1], data)) return nullptr;
  const long long step = PyLong_AsLongLong(args[0]);
  const long state = PyLong_AsLong(args[2]);
  if (failed(step) || failed(state)) return nullptr;
  write_held();
  hw_checkpoint(step, data, static_cast<int>(state));
  Py_RETURN_NONE;
}

PyObject* restore(PyObject*, Args args, Py_ssize_t count) {
  std::int64_t data = 0;
  if (!arity("restore", count, 3) || !to_data(args[1], data)) return nullptr;
  const long long step = PyLong_AsLongLong(args[0]);
  const long tier = PyLong_AsLong(args[2]);
  if (failed(step) || failed(tier)) return nullptr;
  write_held();
  hw_restore(step, data, static_cast<std::uint16_t>(tier));
  Py_RETURN_NONE;
}

PyObject* mark(PyObject*, PyObject* id) {
  const long value = PyLong_AsLong(id);
  if (failed(value)) return nullptr;
  hw_mark(static_cast<std::uint16_t>(value));
  Py_RETURN_NONE;
}

PyObject* mark_end(PyObject*, PyObject* args) {
  int mark = 0, exit_code = 0, signal = 0, origin = 0, reason = 0;
  unsigned int rank = 0;
  if (!PyArg_ParseTuple(args, "iiiiIi", &mark, &exit_code, &signal, &origin, &rank, &reason)) {
    return nullptr;
  }
  hw_mark_end(static_cast<std::uint16_t>(mark), exit_code, signal, origin, rank,
              static_cast<std::uint16_t>(reason));
  Py_RETURN_NONE;
}

PyObject* should_stop(PyObject*, PyObject* step_object) {
  const long long step = PyLong_AsLongLong(step_object);
  if (step == -1 && PyErr_Occurred() != nullptr) return nullptr;
  int stop = 0;
  Py_BEGIN_ALLOW_THREADS;  // it may wait for other ranks
  stop = hw_should_stop(step);
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(stop);
}

PyObject* device_done(PyObject*, Args args, Py_ssize_t count) {
  std::uint64_t ticks = 0;
  if (!arity("device_done", count, 2) || !to_ticks(args[1], ticks)) return nullptr;
  const long long step = PyLong_AsLongLong(args[0]);
  if (failed(step)) return nullptr;
  hw_device_done(step, ticks);
  Py_RETURN_NONE;
}

PyObject* evaluated_ns(PyObject*, PyObject*) {
  return PyLong_FromLongLong(evaluation_clock.total_ns());
}

PyObject* now(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(hw_now());
}

PyObject* ticks_from_monotonic_ns(PyObject*, PyObject* ns) {
  const long long value = PyLong_AsLongLong(ns);
  if (failed(value)) return nullptr;
  return PyLong_FromUnsignedLongLong(hw_ticks_from_monotonic_ns(value));
}

template <auto kIntern>
PyObject* intern(PyObject*, PyObject* text) {
  const char* utf8 = PyUnicode_AsUTF8(text);
  if (utf8 == nullptr) return nullptr;
  return PyLong_FromLong(kIntern(utf8));
}

PyObject* attr(PyObject*, PyObject* args) {
  const char *key = nullptr, *value = nullptr;
  if (!PyArg_ParseTuple(args, "ss", &key, &value)) return nullptr;
  hw_attr(key, value);
  Py_RETURN_NONE;
}

PyObject* init(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dir",        "job",       "attempt", "rank", "local_rank",
                                "world_size", "max_bytes", "host",    nullptr};
  hw_options options{};
  options.struct_size = sizeof options;
  options.world_size = 1;
  unsigned long long attempt = 1, max_bytes = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|zzKIIIKz", const_cast<char**>(names),
                                   &options.dir, &options.job, &attempt, &options.rank,
                                   &options.local_rank, &options.world_size, &max_bytes,
                                   &options.host)) {
    return nullptr;
  }
  options.attempt = attempt;
  options.max_bytes = max_bytes;
  const int error = hw_init(options.dir != nullptr ? &options : nullptr);
  return PyLong_FromLong(error);
}

PyObject* shutdown(PyObject*, PyObject*) {
  hw_shutdown();
  Py_RETURN_NONE;
}

PyObject* pause(PyObject*, PyObject*) {
  hw_pause();
  Py_RETURN_NONE;
}

PyObject* resume(PyObject*, PyObject*) {
  hw_resume();
  Py_RETURN_NONE;
}

PyObject* journal_path(PyObject*, PyObject*) {
  return PyUnicode_DecodeFSDefault(hw_journal_path());
}

PyObject* active(PyObject*, PyObject*) {
  hw_stats stats{};
  stats.struct_size = sizeof stats;
  hw_get_stats(&stats);
  return PyBool_FromLong(stats.active != 0);
}

PyObject* stats(PyObject*, PyObject*) {
  hw_stats stats{};
  stats.struct_size = sizeof stats;
  hw_get_stats(&stats);
  return Py_BuildValue("{s:O,s:K,s:K,s:K,s:K,s:K}", "active", stats.active ? Py_True : Py_False,
                       "records", static_cast<unsigned long long>(stats.records), "dropped",
                       static_cast<unsigned long long>(stats.dropped), "bytes",
                       static_cast<unsigned long long>(stats.bytes), "names",
                       static_cast<unsigned long long>(stats.names), "names_dropped",
                       static_cast<unsigned long long>(stats.names_dropped));
}

// `with Phase(id):` records begin and end of one span.
struct Phase {
  PyObject ob_base;
  std::uint16_t id;
};

PyObject* phase_new(PyTypeObject* type, PyObject* args, PyObject*) {
  unsigned short id = 0;
  if (!PyArg_ParseTuple(args, "H", &id)) return nullptr;
  auto* self = reinterpret_cast<Phase*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->id = id;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* phase_enter(PyObject* self, PyObject*) {
  write_held();
  hw_begin(reinterpret_cast<Phase*>(self)->id);
  evaluation_clock.begin(reinterpret_cast<Phase*>(self)->id);
  return Py_NewRef(self);
}

PyObject* phase_exit(PyObject* self, Args, Py_ssize_t) {
  write_held();
  hw_end(reinterpret_cast<Phase*>(self)->id);
  evaluation_clock.end(reinterpret_cast<Phase*>(self)->id);
  note_span_end();
  Py_RETURN_NONE;
}

PyObject* phase_get_id(PyObject* self, void*) {
  return PyLong_FromLong(reinterpret_cast<Phase*>(self)->id);
}

PyMethodDef kPhaseMethods[] = {{"__enter__", phase_enter, METH_NOARGS, nullptr},
                               {"__exit__", as_method(phase_exit), METH_FASTCALL, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyGetSetDef kPhaseGetters[] = {{"id", phase_get_id, nullptr, "The phase's number.", nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot kPhaseSlots[] = {{Py_tp_new, reinterpret_cast<void*>(phase_new)},
                             {Py_tp_methods, kPhaseMethods},
                             {Py_tp_getset, kPhaseGetters},
                             {0, nullptr}};
PyType_Spec kPhaseSpec = {"headway._core.Phase", sizeof(Phase), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, kPhaseSlots};

PyMethodDef kFunctions[] = {
    {"begin", begin, METH_O, "begin(phase)"},
    {"end", end, METH_O, "end(phase)"},
    {"begin_at", as_method(at<hw_begin_at>), METH_FASTCALL, "begin_at(phase, ticks)"},
    {"end_at", as_method(at<hw_end_at>), METH_FASTCALL, "end_at(phase, ticks)"},
    {"end_compile", end_compile, METH_O, "end_compile(warm)"},
    {"step", as_method(step_record<hw_step>), METH_FASTCALL, "step(step, data or None)"},
    {"step_end", as_method(step_record<hw_step_end>), METH_FASTCALL,
     "step_end(step, data or None)"},
    {"checkpoint", as_method(checkpoint), METH_FASTCALL, "checkpoint(step, data or None, state)"},
    {"restore", as_method(restore), METH_FASTCALL, "restore(step, data or None, tier's name id)"},
    {"mark", mark, METH_O, "mark(mark)"},
    {"mark_at", as_method(at<hw_mark_at>), METH_FASTCALL, "mark_at(mark, ticks)"},
    {"mark_end", mark_end, METH_VARARGS, "mark_end(mark, exit_code, signal, origin, rank, reason)"},
    {"should_stop", should_stop, METH_O, "should_stop(step) -> bool"},
    {"device_done", as_method(device_done), METH_FASTCALL, "device_done(step, ticks)"},
    {"evaluated_ns", evaluated_ns, METH_NOARGS, "How long this process has been evaluating."},
    {"now", now, METH_NOARGS, "Ticks of the journal's clock."},
    {"ticks_from_monotonic_ns", ticks_from_monotonic_ns, METH_O, "ticks of a CLOCK_MONOTONIC ns"},
    {"phase_id", intern<hw_phase_id>, METH_O, "The number of a phase."},
    {"name_id", intern<hw_name_id>, METH_O, "The number of a text."},
    {"attr", attr, METH_VARARGS, "attr(key, value)"},
    {"init", as_method(init), METH_VARARGS | METH_KEYWORDS,
     "Opens the journal, from the environment when no dir is given; 0 or an errno."},
    {"shutdown", shutdown, METH_NOARGS, "Closes the journal."},
    {"pause", pause, METH_NOARGS, "Stops the background thread: before a fork."},
    {"resume", resume, METH_NOARGS, "Starts it again."},
    {"journal_path", journal_path, METH_NOARGS, "The journal's path or ''."},
    {"active", active, METH_NOARGS, "Whether this process records."},
    {"stats", stats, METH_NOARGS, "What was recorded and dropped."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool to_data(PyObject* object, std::int64_t& data) {
  if (object == Py_None) {
    data = HW_NO_DATA;
    return true;
  }
  data = PyLong_AsLongLong(object);
  return !failed(data);
}

bool add_recorder(PyObject* module) {
  PyObject* phase = PyType_FromSpec(&kPhaseSpec);
  if (phase == nullptr) return false;
  const int added = PyModule_AddObjectRef(module, "Phase", phase);
  Py_DECREF(phase);
  return added == 0 && PyModule_AddFunctions(module, kFunctions) == 0;
}

}  // namespace headway::python
