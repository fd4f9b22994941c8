#include "steady.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "around.h"
#include "c_method.h"
#include "headway/headway.h"
#include "held.h"

namespace headway::python {
namespace {

constexpr long long kSamplesUnknown = -1;
constexpr char kTraining = 1;  // Source.kind; loop.py names the others

struct RunState {
  PyObject ob_base;
  long long step;      // finished steps
  std::int64_t data;   // global samples consumed by them, or HW_NO_DATA
  long long per_step;  // samples that the last step took; 0: not known
  char explicit_steps;
};

struct Source {
  PyObject ob_base;
  long long samples;     // per batch, over all ranks; kSamplesUnknown: not fixed
  long long since_step;  // batches since the last step
  long long dataset;     // id of the loader's dataset
  char kind;
};

struct Fetching {
  PyObject ob_base;
  PyObject* source;
  PyObject* reference;
  long long count;
};

struct LoopState {
  PyObject ob_base;
  PyObject* run;
  PyObject* grad_enabled;
  PyObject* since_step;  // list of the sources of the batches since the last step
  PyObject* after_step;
  PyObject* fetching;     // the one whose __next__ is running, or None
  PyObject* of_iterator;  // the Fetching of `iterator`
  const void* iterator;   // identities only: the script's objects are not kept alive
  const void* optimizer;  // the only one of the last step
  long long batches;      // since the last step
  long long samples;      // in them
  long long trained_on;   // dataset of the last step
  long long batches_per_step;
  int phase;
  char step_open, evaluating, extend, elsewhere, restored, settled;
};

template <typename T>
T* as(PyObject* object) {
  return reinterpret_cast<T*>(object);
}

// ---- RunState

PyObject* run_get_data(PyObject* self, void*) {
  const std::int64_t data = as<RunState>(self)->data;
  if (data == HW_NO_DATA) Py_RETURN_NONE;
  return PyLong_FromLongLong(data);
}

int run_set_data(PyObject* self, PyObject* value, void*) {
  return to_data(value != nullptr ? value : Py_None, as<RunState>(self)->data) ? 0 : -1;
}

PyMemberDef kRunMembers[] = {
    {"step", T_LONGLONG, offsetof(RunState, step), 0, "Finished steps."},
    {"per_step", T_LONGLONG, offsetof(RunState, per_step), 0, "Samples of the last step, or 0."},
    {"explicit", T_BOOL, offsetof(RunState, explicit_steps), 0, "Steps come from hw.steps()."},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef kRunGetters[] = {{"data", run_get_data, run_set_data,
                              "Global samples consumed by the finished steps, or None.", nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot kRunSlots[] = {{Py_tp_members, kRunMembers}, {Py_tp_getset, kRunGetters}, {0, nullptr}};
PyType_Spec kRunSpec = {"headway._core.RunState", sizeof(RunState), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, kRunSlots};

PyTypeObject* g_run_type = nullptr;

// ---- Source

PyObject* source_new(PyTypeObject* type, PyObject* args, PyObject*) {
  long long samples = 0, dataset = 0;
  if (!PyArg_ParseTuple(args, "LL", &samples, &dataset)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  as<Source>(self)->samples = samples;
  as<Source>(self)->dataset = dataset;
  return self;
}

PyMemberDef kSourceMembers[] = {
    {"samples", T_LONGLONG, offsetof(Source, samples), READONLY, "Per batch, all ranks; or -1."},
    {"since_step", T_LONGLONG, offsetof(Source, since_step), 0, "Batches since the last step."},
    {"dataset", T_LONGLONG, offsetof(Source, dataset), READONLY, "The id of its dataset."},
    {"kind", T_BYTE, offsetof(Source, kind), 0, "UNKNOWN, TRAIN or EVALUATION of loop.py."},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot kSourceSlots[] = {{Py_tp_new, reinterpret_cast<void*>(source_new)},
                              {Py_tp_members, kSourceMembers},
                              {0, nullptr}};
PyType_Spec kSourceSpec = {"headway._core.Source", sizeof(Source), 0, Py_TPFLAGS_DEFAULT,
                           kSourceSlots};
PyTypeObject* g_source_type = nullptr;

// ---- Fetching

PyObject* fetching_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *source, *reference;
  if (!PyArg_ParseTuple(args, "O!O", g_source_type, &source, &reference)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  as<Fetching>(self)->source = Py_NewRef(source);
  as<Fetching>(self)->reference = Py_NewRef(reference);
  return self;
}

int fetching_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as<Fetching>(self)->source);
  Py_VISIT(as<Fetching>(self)->reference);
  return 0;
}

int fetching_clear(PyObject* self) {
  Py_CLEAR(as<Fetching>(self)->reference);
  return 0;  // `source` stays: it makes no cycle, and next_leave relies on it
}

void fetching_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_CLEAR(as<Fetching>(self)->source);
  Py_CLEAR(as<Fetching>(self)->reference);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef kFetchingMembers[] = {
    {"source", T_OBJECT_EX, offsetof(Fetching, source), READONLY, "Its Source."},
    {"count", T_LONGLONG, offsetof(Fetching, count), 0, "Batches so far."},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot kFetchingSlots[] = {{Py_tp_new, reinterpret_cast<void*>(fetching_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(fetching_dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(fetching_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(fetching_clear)},
                                {Py_tp_members, kFetchingMembers},
                                {0, nullptr}};
PyType_Spec kFetchingSpec = {"headway._core.Fetching", sizeof(Fetching), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, kFetchingSlots};
PyTypeObject* g_fetching_type = nullptr;

// ---- LoopState

PyObject* g_next_enter_slow = nullptr;
PyObject* g_next_leave_slow = nullptr;
PyObject* g_stepped_slow = nullptr;

PyObject* loop_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* run = nullptr;
  if (!PyArg_ParseTuple(args, "O!", g_run_type, &run)) return nullptr;
  PyObject* object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  auto* self = as<LoopState>(object);
  self->run = Py_NewRef(run);
  self->grad_enabled = Py_NewRef(Py_None);
  self->fetching = Py_NewRef(Py_None);
  self->after_step = Py_NewRef(Py_None);
  self->since_step = PyList_New(0);
  self->batches_per_step = 1;
  if (self->since_step == nullptr) Py_CLEAR(object);
  return object;
}

bool in_rhythm(const LoopState* self) {
  return self->settled && !is_held() && !self->evaluating && !self->extend && !self->elsewhere &&
         !self->restored && !as<RunState>(self->run)->explicit_steps;
}

// Asked of torch at every batch: an evaluation begins by turning gradients off.
bool gradients_on(const LoopState* self) {
  PyObject* answer = PyObject_CallNoArgs(self->grad_enabled);
  if (answer == nullptr) PyErr_Clear();  // the slow path asks again, and reports
  const bool on = answer == Py_True;
  Py_XDECREF(answer);
  return on;
}

// Samples consumed once the batches at hand are.
std::int64_t data_after(const LoopState* self) {
  const auto* run = as<RunState>(self->run);
  if (run->data == HW_NO_DATA || self->samples == kSamplesUnknown) return HW_NO_DATA;
  // Batches skipped to get back to a restored position were consumed before.
  const bool skipped = self->restored && run->per_step > 0;
  return run->data + (skipped ? std::min(self->samples, run->per_step) : self->samples);
}

// A batch of training has come.
bool take_batch(LoopState* self, Fetching* fetching) {
  auto* source = as<Source>(fetching->source);
  if (source->since_step == 0 && PyList_Append(self->since_step, fetching->source) != 0) {
    return false;
  }
  ++source->since_step;
  ++fetching->count;
  ++self->batches;
  const bool known = source->samples != kSamplesUnknown && self->samples != kSamplesUnknown;
  self->samples = known ? self->samples + source->samples : kSamplesUnknown;
  if (!self->step_open) {
    self->step_open = 1;
    hw_step(as<RunState>(self->run)->step + 1, data_after(self));
  }
  return true;
}

// The step that goes on has ended; its batches, if any, were for training.
bool close_step(LoopState* self) {
  auto* run = as<RunState>(self->run);
  const std::int64_t data = self->batches > 0 ? data_after(self) : HW_NO_DATA;
  hw_step_end(run->step + 1, data);
  run->per_step = data != HW_NO_DATA && run->data != HW_NO_DATA ? data - run->data : 0;
  run->data = data;
  ++run->step;
  const Py_ssize_t sources = PyList_GET_SIZE(self->since_step);
  for (Py_ssize_t i = 0; i < sources; ++i) {
    auto* source = as<Source>(PyList_GET_ITEM(self->since_step, i));
    source->since_step = 0;
    source->kind = kTraining;
    self->trained_on = source->dataset;
  }
  if (PyList_SetSlice(self->since_step, 0, sources, nullptr) != 0) return false;
  if (self->batches > 0) self->batches_per_step = self->batches;
  self->batches = 0;
  self->samples = 0;
  self->step_open = self->restored = 0;
  return true;
}

PyObject* loop_next_enter(PyObject* object, PyObject* iterator) {
  auto* self = as<LoopState>(object);
  if (iterator != self->iterator || self->fetching != Py_None || !in_rhythm(self) ||
      as<Source>(as<Fetching>(self->of_iterator)->source)->kind != kTraining ||
      !gradients_on(self)) {
    return PyObject_CallMethodOneArg(object, g_next_enter_slow, iterator);
  }
  hw_begin(HW_PHASE_DATA_WAIT);
  self->phase = HW_PHASE_DATA_WAIT;
  Py_SETREF(self->fetching, Py_NewRef(self->of_iterator));
  Py_RETURN_TRUE;
}

PyObject* loop_next_leave(PyObject* object, Args args, Py_ssize_t count) {
  auto* self = as<LoopState>(object);
  const bool fast = count == 3 && args[2] == Py_None && self->phase == HW_PHASE_DATA_WAIT &&
                    Py_IS_TYPE(self->fetching, g_fetching_type) && in_rhythm(self);
  if (!fast) {
    if (count != 3) {
      PyErr_Format(PyExc_TypeError, "next_leave() takes 3 arguments (%zd given)", count);
      return nullptr;
    }
    PyObject* all[] = {object, args[0], args[1], args[2]};
    return PyObject_VectorcallMethod(g_next_leave_slow, all, 4, nullptr);
  }
  hw_end(HW_PHASE_DATA_WAIT);
  const bool taken = take_batch(self, as<Fetching>(self->fetching));
  Py_SETREF(self->fetching, Py_NewRef(Py_None));
  if (!taken) return nullptr;
  Py_RETURN_NONE;
}

bool tell_after_step(LoopState* self) {
  if (self->after_step == Py_None) return true;
  PyObject* number = PyLong_FromLongLong(as<RunState>(self->run)->step);
  PyObject* done = number != nullptr ? PyObject_CallOneArg(self->after_step, number) : nullptr;
  Py_XDECREF(number);
  Py_XDECREF(done);
  return done != nullptr;
}

// torch calls this through an optimizer's hook, not through an Around: what fails stays in here.
PyObject* loop_stepped(PyObject* object, PyObject* optimizer) {
  auto* self = as<LoopState>(object);
  bool ok;
  if (optimizer == self->optimizer && self->batches > 0 && hook_active() && in_rhythm(self)) {
    ok = close_step(self) && tell_after_step(self);
  } else {
    PyObject* done = PyObject_CallMethodOneArg(object, g_stepped_slow, optimizer);
    ok = done != nullptr;
    Py_XDECREF(done);
  }
  if (!ok) hook_failed();
  Py_RETURN_NONE;
}

PyObject* loop_take_batch(PyObject* object, PyObject* fetching) {
  if (!Py_IS_TYPE(fetching, g_fetching_type)) {
    PyErr_SetString(PyExc_TypeError, "take_batch(a Fetching)");
    return nullptr;
  }
  if (!take_batch(as<LoopState>(object), as<Fetching>(fetching))) return nullptr;
  Py_RETURN_NONE;
}

PyObject* loop_close_step(PyObject* object, PyObject*) {
  if (!close_step(as<LoopState>(object))) return nullptr;
  Py_RETURN_NONE;
}

PyObject* loop_remember(PyObject* object, Args args, Py_ssize_t count) {
  if (count != 2 || !Py_IS_TYPE(args[1], g_fetching_type)) {
    PyErr_SetString(PyExc_TypeError, "remember(iterator, its Fetching)");
    return nullptr;
  }
  auto* self = as<LoopState>(object);
  self->iterator = args[0];
  Py_XSETREF(self->of_iterator, Py_NewRef(args[1]));
  Py_RETURN_NONE;
}

PyObject* loop_forget(PyObject* object, PyObject* key) {
  auto* self = as<LoopState>(object);
  void* iterator = PyLong_AsVoidPtr(key);
  if (iterator == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  if (iterator == self->iterator) {
    self->iterator = nullptr;
    Py_CLEAR(self->of_iterator);
  }
  Py_RETURN_NONE;
}

// The loop has found its rhythm with this optimizer; with None, it has lost it.
PyObject* loop_settle(PyObject* object, PyObject* optimizer) {
  auto* self = as<LoopState>(object);
  self->optimizer = optimizer != Py_None ? optimizer : nullptr;
  self->settled = self->optimizer != nullptr;
  Py_RETURN_NONE;
}

int loop_traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = as<LoopState>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->run);
  Py_VISIT(self->grad_enabled);
  Py_VISIT(self->since_step);
  Py_VISIT(self->after_step);
  Py_VISIT(self->fetching);
  Py_VISIT(self->of_iterator);
  return 0;
}

int loop_clear(PyObject* object) {
  auto* self = as<LoopState>(object);
  self->settled = 0;  // nothing below is looked at any more
  self->iterator = nullptr;
  Py_CLEAR(self->grad_enabled);
  Py_CLEAR(self->after_step);
  Py_CLEAR(self->of_iterator);
  return 0;
}

void loop_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  loop_clear(object);
  auto* self = as<LoopState>(object);
  Py_CLEAR(self->run);
  Py_CLEAR(self->since_step);
  Py_CLEAR(self->fetching);
  type->tp_free(object);
  Py_DECREF(type);
}

PyMethodDef kLoopMethods[] = {
    {"next_enter", loop_next_enter, METH_O, "An iterator's __next__ begins."},
    {"next_leave", as_method(loop_next_leave), METH_FASTCALL, "next_leave(token, batch, error)"},
    {"stepped", loop_stepped, METH_O, "An optimizer has stepped."},
    {"take_batch", loop_take_batch, METH_O, "A batch of training has come from this Fetching."},
    {"close_step", loop_close_step, METH_NOARGS, "The step that goes on has ended."},
    {"remember", as_method(loop_remember), METH_FASTCALL, "remember(iterator, its Fetching)"},
    {"forget", loop_forget, METH_O, "forget(id of an iterator that is gone)"},
    {"settle", loop_settle, METH_O, "settle(the one optimizer of a loop in its rhythm, or None)"},
    {nullptr, nullptr, 0, nullptr}};
#define HEADWAY_MEMBER(name, kind) {#name, kind, offsetof(LoopState, name), 0, nullptr}
PyMemberDef kLoopMembers[] = {
    {"run", T_OBJECT, offsetof(LoopState, run), READONLY, nullptr},
    {"since_step", T_OBJECT, offsetof(LoopState, since_step), READONLY, nullptr},
    HEADWAY_MEMBER(grad_enabled, T_OBJECT),
    HEADWAY_MEMBER(after_step, T_OBJECT),
    HEADWAY_MEMBER(fetching, T_OBJECT),
    HEADWAY_MEMBER(batches, T_LONGLONG),
    HEADWAY_MEMBER(samples, T_LONGLONG),
    HEADWAY_MEMBER(trained_on, T_LONGLONG),
    HEADWAY_MEMBER(batches_per_step, T_LONGLONG),
    HEADWAY_MEMBER(phase, T_INT),
    HEADWAY_MEMBER(step_open, T_BOOL),
    HEADWAY_MEMBER(evaluating, T_BOOL),
    HEADWAY_MEMBER(extend, T_BOOL),
    HEADWAY_MEMBER(elsewhere, T_BOOL),
    HEADWAY_MEMBER(restored, T_BOOL),
    {"settled", T_BOOL, offsetof(LoopState, settled), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
#undef HEADWAY_MEMBER
PyType_Slot kLoopSlots[] = {{Py_tp_new, reinterpret_cast<void*>(loop_new)},
                            {Py_tp_dealloc, reinterpret_cast<void*>(loop_dealloc)},
                            {Py_tp_traverse, reinterpret_cast<void*>(loop_traverse)},
                            {Py_tp_clear, reinterpret_cast<void*>(loop_clear)},
                            {Py_tp_methods, kLoopMethods},
                            {Py_tp_members, kLoopMembers},
                            {0, nullptr}};
PyType_Spec kLoopSpec = {"headway._core.LoopState", sizeof(LoopState), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, kLoopSlots};

PyTypeObject* add_type(PyObject* module, PyType_Spec& spec, const char* name) {
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr || PyModule_AddObjectRef(module, name, type) != 0) return nullptr;
  return as<PyTypeObject>(type);  // kept for the life of the process
}

}  // namespace

bool add_steady(PyObject* module) {
  g_next_enter_slow = PyUnicode_InternFromString("next_enter_slow");
  g_next_leave_slow = PyUnicode_InternFromString("next_leave_slow");
  g_stepped_slow = PyUnicode_InternFromString("stepped_slow");
  if (!g_next_enter_slow || !g_next_leave_slow || !g_stepped_slow) return false;
  g_run_type = add_type(module, kRunSpec, "RunState");
  g_source_type = add_type(module, kSourceSpec, "Source");
  g_fetching_type = add_type(module, kFetchingSpec, "Fetching");
  return g_run_type && g_source_type && g_fetching_type &&
         add_type(module, kLoopSpec, "LoopState") != nullptr;
}

}  // namespace headway::python
