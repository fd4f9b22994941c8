// Checkpoints on disk for Python: which there are, and any part of any tensor in them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/file_system.h"
#include "checkpoint/folder.h"
#include "replica_module.h"

namespace headway::python {
namespace {

namespace nb = nanobind;

using Listed = std::tuple<std::string, std::uint64_t, std::int64_t>;  // name, step, time

// The newest ones whose manifests are good and whose files are there in full.
std::vector<Listed> list_checkpoints(const std::string& path, std::size_t max) {
  const checkpoint::CheckpointFolder folder(base::real_file_system(), path);
  auto names = folder.list();
  raise_if_bad(names.status());
  std::vector<Listed> listed;
  for (const checkpoint::CheckpointName& name : *names) {
    if (listed.size() == max) break;
    auto manifest = folder.read_sized(name);
    if (manifest.ok()) listed.emplace_back(name.text(), name.step, manifest->time_ns);
  }
  return listed;
}

}  // namespace

void add_reader(nb::module_& module) {
  module.def("list_checkpoints", &list_checkpoints, nb::arg("folder"), nb::arg("max"),
             nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace headway::python
