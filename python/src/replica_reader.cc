// Checkpoints on disk for Python: which there are, and any part of any tensor in them.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/file_system.h"
#include "checkpoint/folder.h"
#include "checkpoint/load.h"
#include "checkpoint/traces.h"
#include "replica_module.h"

namespace headway::python {
namespace {

namespace nb = nanobind;

using Listed = std::tuple<std::string, std::uint64_t, std::int64_t>;  // name, step, time

using Damaged = std::pair<std::string, bool>;  // what is wrong; is nothing that is good newer?
constexpr std::size_t kDamagedMax = 16;

// The newest ones whose manifests are good and whose files are there in full; and among them those
// that are not good, or only traces of what was there.
std::pair<std::vector<Listed>, std::vector<Damaged>> list_checkpoints(const std::string& path,
                                                                      std::size_t max) {
  const checkpoint::CheckpointFolder folder(base::real_file_system(), path);
  auto names = folder.list();
  raise_if_bad(names.status());
  auto bad = checkpoint::find_traces(base::real_file_system(), path);
  raise_if_bad(bad.status());
  std::vector<Listed> listed;
  std::uint64_t newest = 0;  // of the good ones, by the order of their commits
  for (const checkpoint::CheckpointName& name : *names) {
    if (listed.size() == max) break;
    auto manifest = folder.read_sized(name);
    if (manifest.ok()) {
      newest = std::max(newest, name.sequence);
      listed.emplace_back(name.text(), name.step, manifest->time_ns);
    } else if (manifest.status().code() != base::Code::not_found) {
      bad->push_back({name, manifest.status().message()});
    }
  }
  std::stable_sort(bad->begin(), bad->end(),
                   [](const auto& a, const auto& b) { return a.name.sequence > b.name.sequence; });
  std::vector<Damaged> damaged;
  for (const checkpoint::Trace& each : *bad) {
    const bool is_newer = listed.empty() || each.name.sequence > newest;
    if (damaged.size() < kDamagedMax) damaged.emplace_back(each.text, is_newer);
  }
  return {listed, damaged};
}

// (name, offsets, shape, address): this part of that tensor, to that place.
using WantTuple =
    std::tuple<std::string, std::vector<std::uint64_t>, std::vector<std::uint64_t>, std::uintptr_t>;

class Reader {
 public:
  explicit Reader(const std::string& path) {
    base::Status status;
    {
      const nb::gil_scoped_release release;
      auto reader = checkpoint::CheckpointReader::open(base::real_file_system(), path);
      status = reader.status();
      if (reader.ok()) reader_ = std::move(*reader);
    }
    raise_if_bad(status);
  }
  const checkpoint::CheckpointReader& get() const { return *reader_; }

  nb::list tensors() const {
    nb::list tensors;
    for (const checkpoint::TensorInfo& info : reader_->tensors()) {
      tensors.append(nb::make_tuple(info.name, std::string(name_of(info.dtype)), info.shape));
    }
    return tensors;
  }
  void read(const std::vector<WantTuple>& given, unsigned threads) const {
    std::vector<checkpoint::Want> wants;
    for (const auto& [name, offsets, shape, address] : given) {
      const checkpoint::TensorInfo* info = reader_->find(name);
      if (info == nullptr) throw CheckpointError(reader_->path() + ": has no tensor " + name);
      const auto bytes = checkpoint::bytes_of_shape(info->dtype, shape);
      if (!bytes) throw CheckpointError(name + ": too large");
      wants.push_back({name, {offsets, shape}, {reinterpret_cast<std::byte*>(address), *bytes}});
    }
    base::Status status;
    {
      const nb::gil_scoped_release release;
      status = reader_->read_all(wants, {.direct = true, .threads = threads});
    }
    raise_if_bad(status);
  }

 private:
  std::unique_ptr<checkpoint::CheckpointReader> reader_;
};

}  // namespace

void add_reader(nb::module_& module) {
  nb::class_<Reader>(module, "Reader")
      .def(nb::init<const std::string&>(), nb::arg("path"))
      .def_prop_ro("path", [](const Reader& reader) { return reader.get().path(); })
      .def_prop_ro("step", [](const Reader& reader) { return reader.get().manifest().step; })
      .def_prop_ro("data", [](const Reader& reader) { return reader.get().manifest().data; })
      .def("tensors", &Reader::tensors)
      .def("read", &Reader::read, nb::arg("wants"), nb::arg("threads"));
  module.def("list_checkpoints", &list_checkpoints, nb::arg("folder"), nb::arg("max"),
             nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace headway::python
