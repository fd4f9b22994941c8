#include "around.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace headway::python {
namespace {

struct HookState {
  bool enabled = false;
  unsigned long thread = 0;
  PyObject* report = nullptr;  // owned; called as report(exception_type, exception)
};
HookState g_hook;

struct Around {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  PyObject* original;
  PyObject* enter;
  PyObject* leave;  // nullptr: nothing to do afterwards
  PyObject* weakrefs;
  bool whole_call;  // enter(args, kwargs) instead of enter(first argument)
  bool any_thread;
  bool global_name;  // pickles by its qualified name
};

Around* self_of(PyObject* object) {
  return reinterpret_cast<Around*>(object);
}

// The token to hand to `leave`, or nullptr when `leave` is not wanted.
PyObject* call_enter(Around* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  PyObject* token = nullptr;
  if (!self->whole_call) {
    PyObject* first = count > 0 ? args[0] : Py_None;
    token = PyObject_CallOneArg(self->enter, first);
  } else {
    PyObject* positional = PyTuple_New(count);
    PyObject* named = PyDict_New();
    bool ok = positional != nullptr && named != nullptr;
    for (Py_ssize_t i = 0; ok && i < count; ++i) {
      PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    }
    const Py_ssize_t named_count = kwnames != nullptr ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; ok && i < named_count; ++i) {
      ok = PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, i), args[count + i]) == 0;
    }
    if (ok) token = PyObject_CallFunctionObjArgs(self->enter, positional, named, nullptr);
    Py_XDECREF(positional);
    Py_XDECREF(named);
  }
  if (token == nullptr) hook_failed();
  if (token == Py_None) Py_CLEAR(token);
  return token;
}

void call_leave(Around* self, PyObject* token, PyObject* result) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* args[] = {token, result != nullptr ? result : Py_None,
                      type != nullptr ? type : Py_None};
  PyObject* done = PyObject_Vectorcall(self->leave, args, 3, nullptr);
  if (done == nullptr) hook_failed();
  Py_XDECREF(done);
  PyErr_Restore(type, value, traceback);
}

PyObject* around_vectorcall(PyObject* object, PyObject* const* args, std::size_t nargsf,
                            PyObject* kwnames) {
  Around* self = self_of(object);
  const bool watch = self->any_thread ? g_hook.enabled : hook_active();
  if (!watch) return PyObject_Vectorcall(self->original, args, nargsf, kwnames);
  Py_INCREF(object);  // a callback may take this wrapper out of its place
  PyObject* token = call_enter(self, args, PyVectorcall_NARGS(nargsf), kwnames);
  PyObject* result = PyObject_Vectorcall(self->original, args, nargsf, kwnames);
  if (token != nullptr) {
    if (self->leave != nullptr) call_leave(self, token, result);
    Py_DECREF(token);
  }
  Py_DECREF(object);
  return result;
}

PyObject* around_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"original",   "enter",       "leave", "whole_call",
                                "any_thread", "global_name", nullptr};
  PyObject *original, *enter, *leave = Py_None;
  int whole_call = 0, any_thread = 0, global_name = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O$ppp", const_cast<char**>(names), &original,
                                   &enter, &leave, &whole_call, &any_thread, &global_name)) {
    return nullptr;
  }
  auto* self = self_of(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->vectorcall = around_vectorcall;
  self->original = Py_NewRef(original);
  self->enter = Py_NewRef(enter);
  self->leave = leave != Py_None ? Py_NewRef(leave) : nullptr;
  self->whole_call = whole_call != 0;
  self->any_thread = any_thread != 0;
  self->global_name = global_name != 0;
  return reinterpret_cast<PyObject*>(self);
}

int around_traverse(PyObject* object, visitproc visit, void* arg) {
  Around* self = self_of(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->original);
  Py_VISIT(self->enter);
  Py_VISIT(self->leave);
  return 0;
}

int around_clear(PyObject* object) {
  Around* self = self_of(object);
  Py_CLEAR(self->original);
  Py_CLEAR(self->enter);
  Py_CLEAR(self->leave);
  return 0;
}

void around_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self_of(object)->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  around_clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

// Functions bind to instances; so does what stands in for one.
PyObject* around_bind(PyObject* object, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(object);
  return PyMethod_New(object, instance);
}

bool is_own_attribute(const char* name) {
  for (const char* own : {"__get__", "__call__", "__reduce__", "__reduce_ex__", "__headway__"}) {
    if (std::strcmp(name, own) == 0) return true;
  }
  return false;
}

PyObject* around_getattr(PyObject* object, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  if (std::strcmp(text, "__wrapped__") == 0) return Py_NewRef(self_of(object)->original);
  if (is_own_attribute(text)) return PyObject_GenericGetAttr(object, name);
  return PyObject_GetAttr(self_of(object)->original, name);
}

int around_setattr(PyObject* object, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(self_of(object)->original, name, value);
}

PyObject* around_repr(PyObject* object) {
  return PyObject_Repr(self_of(object)->original);
}

// A global function is pickled by name, as ever. A method of a class that is pickled by value gives
// the original back, without needing Headway where it is loaded.
PyObject* around_reduce(PyObject* object, PyObject*) {
  Around* self = self_of(object);
  if (self->global_name) return PyObject_GetAttrString(self->original, "__qualname__");
  PyObject* module = PyImport_ImportModule("operator");
  if (module == nullptr) return nullptr;
  PyObject* getter = PyObject_CallMethod(module, "itemgetter", "i", 0);
  Py_DECREF(module);
  if (getter == nullptr) return nullptr;
  return Py_BuildValue("(N((O)))", getter, self->original);
}

PyObject* around_mark(PyObject*, void*) {
  Py_RETURN_TRUE;
}

PyMethodDef kAroundMethods[] = {{"__reduce__", around_reduce, METH_NOARGS, nullptr},
                                {"__reduce_ex__", around_reduce, METH_O, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
PyGetSetDef kAroundGetters[] = {{"__headway__", around_mark, nullptr, nullptr, nullptr},
                                {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef kAroundMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Around, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Around, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot kAroundSlots[] = {{Py_tp_new, reinterpret_cast<void*>(around_new)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(around_dealloc)},
                              {Py_tp_traverse, reinterpret_cast<void*>(around_traverse)},
                              {Py_tp_clear, reinterpret_cast<void*>(around_clear)},
                              {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                              {Py_tp_descr_get, reinterpret_cast<void*>(around_bind)},
                              {Py_tp_getattro, reinterpret_cast<void*>(around_getattr)},
                              {Py_tp_setattro, reinterpret_cast<void*>(around_setattr)},
                              {Py_tp_repr, reinterpret_cast<void*>(around_repr)},
                              {Py_tp_methods, kAroundMethods},
                              {Py_tp_getset, kAroundGetters},
                              {Py_tp_members, kAroundMembers},
                              {0, nullptr}};
PyType_Spec kAroundSpec = {"headway._core.Around", sizeof(Around), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                               Py_TPFLAGS_METHOD_DESCRIPTOR,
                           kAroundSlots};

PyObject* hook_enable(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  g_hook.enabled = truth != 0;
  Py_RETURN_NONE;
}

PyObject* hook_enabled(PyObject*, PyObject*) {
  return PyBool_FromLong(g_hook.enabled);
}

PyObject* hook_thread(PyObject*, PyObject*) {
  g_hook.thread = PyThread_get_thread_ident();
  Py_RETURN_NONE;
}

PyObject* hook_report(PyObject*, PyObject* callable) {
  Py_XSETREF(g_hook.report, Py_NewRef(callable));
  Py_RETURN_NONE;
}

// super(base, cls).__init_subclass__(**kwargs): what a class without the method inherits.
PyObject* chain_init_subclass(PyObject* base, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) != 1) {
    PyErr_SetString(PyExc_TypeError, "__init_subclass__() takes no positional arguments");
    return nullptr;
  }
  PyObject* parent = PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type), base,
                                                  PyTuple_GET_ITEM(args, 0), nullptr);
  if (parent == nullptr) return nullptr;
  PyObject* method = PyObject_GetAttrString(parent, "__init_subclass__");
  Py_DECREF(parent);
  if (method == nullptr) return nullptr;
  PyObject* none = PyTuple_New(0);
  PyObject* result = none != nullptr ? PyObject_Call(method, none, kwargs) : nullptr;
  Py_XDECREF(none);
  Py_DECREF(method);
  return result;
}
PyMethodDef kChainMethod = {
    "__init_subclass__",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(chain_init_subclass)),
    METH_VARARGS | METH_KEYWORDS, nullptr};

PyObject* inherited_init_subclass(PyObject*, PyObject* base) {
  return PyCFunction_New(&kChainMethod, base);
}

PyMethodDef kHookFunctions[] = {
    {"hook_enable", hook_enable, METH_O, "Turns every Around on or off."},
    {"hook_enabled", hook_enabled, METH_NOARGS, "Whether Arounds call their callbacks."},
    {"hook_thread", hook_thread, METH_NOARGS, "Makes the calling thread the training thread."},
    {"hook_report", hook_report, METH_O, "Sets what is told of a failing callback."},
    {"inherited_init_subclass", inherited_init_subclass, METH_O,
     "A function that does what the class's inherited __init_subclass__ does."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool hook_active() {
  return g_hook.enabled && PyThread_get_thread_ident() == g_hook.thread;
}

void hook_failed() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  g_hook.enabled = false;
  if (g_hook.report != nullptr) {
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject* done = PyObject_CallFunctionObjArgs(g_hook.report, type, value, nullptr);
    Py_XDECREF(done);
    PyErr_Clear();
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

bool add_around(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kAroundSpec);
  if (type == nullptr) return false;
  const int added = PyModule_AddObjectRef(module, "Around", type);
  Py_DECREF(type);
  return added == 0 && PyModule_AddFunctions(module, kHookFunctions) == 0;
}

}  // namespace headway::python
