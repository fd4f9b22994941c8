#include "import_clock.h"

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headway::python {
namespace {

constexpr std::size_t packages_max = 4096;
constexpr std::size_t late_max = 64;
constexpr std::int64_t late_min_ns = 10'000'000;  // what is not worth a word

struct OpenImport {
  std::string package;
  std::string module;  // known late only
  std::int64_t begin_ns;
  std::int64_t inner_ns;  // spent in other packages' imports below
};

struct ImportClock {
  bool running = false;
  unsigned long thread = 0;
  PyObject* original = nullptr;  // builtins.__import__ as it was
  PyObject* own = nullptr;
  std::vector<OpenImport> open;
  std::unordered_map<std::string, std::int64_t> package_ns;
  std::int64_t last_end_ns = 0;
  bool late = false;           // the first part is over
  std::size_t late_depth = 0;  // imports that were open then: they run the program itself
  std::vector<std::pair<std::string, std::int64_t>> late_ns;
};

ImportClock& clock() {
  static auto* instance = new ImportClock;  // outlives the interpreter's own teardown
  return *instance;
}

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// The module's full name; of one that is named relatively, the one that names it.
std::string module_of(PyObject* name, PyObject* globals, long level) {
  PyObject* full = name;
  if (level > 0 && globals != nullptr && PyDict_Check(globals)) {
    PyObject* from = PyDict_GetItemString(globals, "__name__");
    if (from != nullptr) full = from;
  }
  const char* text = PyUnicode_Check(full) ? PyUnicode_AsUTF8(full) : nullptr;
  if (text != nullptr) return text;
  PyErr_Clear();
  return "";
}

bool is_imported(PyObject* name) {
  PyObject* modules = PyImport_GetModuleDict();
  const int found = PyDict_Contains(modules, name);
  if (found < 0) PyErr_Clear();
  return found == 1;
}

void close_import(ImportClock& c) {
  const OpenImport done = std::move(c.open.back());
  c.open.pop_back();
  const std::int64_t end_ns = monotonic_ns();
  const std::int64_t total_ns = end_ns - done.begin_ns;
  if (c.late) {
    if (c.open.size() == c.late_depth && total_ns >= late_min_ns && c.late_ns.size() < late_max) {
      c.late_ns.emplace_back(done.module, total_ns);
    }
    return;
  }
  if (c.package_ns.size() < packages_max || c.package_ns.contains(done.package)) {
    c.package_ns[done.package] += total_ns - done.inner_ns;
  }
  if (c.open.empty()) {
    c.last_end_ns = end_ns;
  } else {
    c.open.back().inner_ns += total_ns;
  }
}

PyObject* timed_import(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  ImportClock& c = clock();
  const bool mine = c.running && count == 5 && PyThread_get_thread_ident() == c.thread;
  if (!mine || (!c.open.empty() && is_imported(args[0]))) {
    return PyObject_Vectorcall(c.original, args, static_cast<std::size_t>(count), kwnames);
  }
  const long level = PyLong_Check(args[4]) ? PyLong_AsLong(args[4]) : 0;
  const bool cached = c.open.empty() && level == 0 && args[3] == Py_None && is_imported(args[0]);
  if (cached)
    return PyObject_Vectorcall(c.original, args, static_cast<std::size_t>(count), kwnames);
  std::string name = module_of(args[0], args[1], level);
  std::string package = name.substr(0, name.find('.'));
  c.open.push_back({std::move(package), std::move(name), monotonic_ns(), 0});
  PyObject* module =
      PyObject_Vectorcall(c.original, args, static_cast<std::size_t>(count), kwnames);
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  close_import(c);
  PyErr_Restore(type, value, traceback);
  return module;
}

PyMethodDef kImportMethod = {
    "__import__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(timed_import)),
    METH_FASTCALL | METH_KEYWORDS, nullptr};

PyObject* import_clock_start(PyObject*, PyObject*) {
  ImportClock& c = clock();
  if (c.running) Py_RETURN_NONE;
  PyObject* builtins = PyEval_GetBuiltins();  // borrowed
  PyObject* original = PyDict_GetItemString(builtins, "__import__");
  if (original == nullptr) Py_RETURN_NONE;
  if (c.own == nullptr) c.own = PyCFunction_New(&kImportMethod, nullptr);
  if (c.own == nullptr) return nullptr;
  Py_XSETREF(c.original, Py_NewRef(original));
  if (PyDict_SetItemString(builtins, "__import__", c.own) != 0) return nullptr;
  c.thread = PyThread_get_thread_ident();
  c.running = true;
  Py_RETURN_NONE;
}

PyObject* import_clock_stop(PyObject*, PyObject*) {
  ImportClock& c = clock();
  if (!c.running) Py_RETURN_NONE;
  c.running = false;
  PyObject* builtins = PyEval_GetBuiltins();
  // Somebody may have wrapped ours since; it then stays below theirs and only passes calls on.
  if (PyDict_GetItemString(builtins, "__import__") == c.own) {
    if (PyDict_SetItemString(builtins, "__import__", c.original) != 0) return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* import_clock_reset(PyObject*, PyObject*) {
  ImportClock& c = clock();
  c.package_ns.clear();
  c.last_end_ns = monotonic_ns();
  Py_RETURN_NONE;
}

PyObject* import_clock_depth(PyObject*, PyObject*) {
  const ImportClock& c = clock();
  return PyLong_FromSize_t(c.running && !c.late ? c.open.size() : 0);
}

PyObject* import_clock_result(PyObject*, PyObject*) {
  ImportClock& c = clock();
  if (!c.late) {
    c.late = true;
    c.late_depth = c.open.size();
  }
  PyObject* packages = PyDict_New();
  if (packages == nullptr) return nullptr;
  for (const auto& [package, ns] : c.package_ns) {
    PyObject* value = PyLong_FromLongLong(ns);
    const int failed =
        value == nullptr || PyDict_SetItemString(packages, package.c_str(), value) != 0;
    Py_XDECREF(value);
    if (failed) {
      Py_DECREF(packages);
      return nullptr;
    }
  }
  return Py_BuildValue("(LN)", static_cast<long long>(c.last_end_ns), packages);
}

PyObject* import_clock_late(PyObject*, PyObject*) {
  ImportClock& c = clock();
  PyObject* list = PyList_New(0);
  if (list == nullptr) return nullptr;
  for (const auto& [module, ns] : c.late_ns) {
    PyObject* pair = Py_BuildValue("(sL)", module.c_str(), static_cast<long long>(ns));
    const int failed = pair == nullptr || PyList_Append(list, pair) != 0;
    Py_XDECREF(pair);
    if (failed) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  c.late_ns.clear();
  return list;
}

PyMethodDef kClockFunctions[] = {
    {"import_clock_start", import_clock_start, METH_NOARGS, "Begins to time imports."},
    {"import_clock_stop", import_clock_stop, METH_NOARGS, "Gives builtins.__import__ back."},
    {"import_clock_reset", import_clock_reset, METH_NOARGS, "Begins again, here and now."},
    {"import_clock_depth", import_clock_depth, METH_NOARGS, "Imports that are open now."},
    {"import_clock_result", import_clock_result, METH_NOARGS, "(last end ns, {package: ns})"},
    {"import_clock_late", import_clock_late, METH_NOARGS, "[(module, ns)] since the last call"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_import_clock(PyObject* module) {
  return PyModule_AddFunctions(module, kClockFunctions) == 0;
}

}  // namespace headway::python
