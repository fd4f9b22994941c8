// A slot's image as memory that torch.frombuffer() makes tensors of: those keep the slot mapped.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replica/slot.h"
#include "replica/slot_pieces.h"
#include "replica/trainer.h"
#include "replica_module.h"

namespace headway::python {
namespace {

namespace nb = nanobind;
using replica::Slot;
using replica::Whole;

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  Slot& slot = *nb::inst_ptr<Slot>(self);
  return PyBuffer_FillInfo(view, self, slot.image().data(),
                           static_cast<Py_ssize_t>(slot.capacity()), 0, flags);
}

// None: there is no whole step in it, or no slot at all.
std::optional<Whole> open_whole(const std::string& path) {
  const nb::gil_scoped_release release;
  auto slot = Slot::open(path);
  if (!slot.ok()) return std::nullopt;
  const auto facts = (*slot)->facts();
  if (!facts || facts->since != 0) return std::nullopt;
  return Whole{std::move(*slot), *facts};
}

PyType_Slot slot_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

}  // namespace

void add_slot(nb::module_& module) {
  nb::class_<Slot>(module, "Slot", nb::type_slots(slot_slots))
      .def_prop_ro("path", [](const Slot& slot) { return slot.path(); })
      .def_prop_ro("state", [](const Slot& slot) { return std::string(name_of(slot.state())); });
  nb::class_<Whole>(module, "Whole")
      .def_prop_ro("slot", [](const Whole& whole) { return whole.slot; })
      .def_prop_ro("step", [](const Whole& whole) { return whole.facts.step; })
      .def_prop_ro("data", [](const Whole& whole) { return whole.facts.data; })
      .def_prop_ro("time_ns", [](const Whole& whole) { return whole.facts.time_ns; })
      .def_prop_ro("attempt", [](const Whole& whole) { return whole.facts.attempt; })
      .def_prop_ro("rank", [](const Whole& whole) { return whole.facts.rank; })
      .def_prop_ro("world_size", [](const Whole& whole) { return whole.facts.world_size; })
      .def_prop_ro("saved", [](const Whole& whole) { return whole.facts.saved; })
      .def_prop_ro("layout", [](const Whole& whole) { return whole.facts.layout_hash; })
      // (name, dtype, shape, offsets, begin, end) of each.
      .def_prop_ro("pieces", [](const Whole& whole) {
        auto found = replica::pieces_of(*whole.slot, whole.facts);
        raise_if_bad(found.status());
        nb::list pieces;
        for (const checkpoint::StoredPiece& stored : *found) {
          pieces.append(nb::make_tuple(stored.piece.name, std::string(name_of(stored.piece.dtype)),
                                       stored.piece.shape, stored.piece.offsets, stored.begin,
                                       stored.end));
        }
        return pieces;
      });
  module.def("open_whole", &open_whole, nb::arg("path"));
}

}  // namespace headway::python
