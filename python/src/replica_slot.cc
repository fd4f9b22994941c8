// A slot's image as memory that torch.frombuffer() makes tensors of: those keep the slot mapped.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

#include "checkpoint/safetensors.h"
#include "replica/slot.h"
#include "replica/trainer.h"
#include "replica_module.h"

namespace headway::python {
namespace {

namespace nb = nanobind;
using replica::Range;
using replica::Slot;
using replica::Whole;

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  Slot& slot = *nb::inst_ptr<Slot>(self);
  return PyBuffer_FillInfo(view, self, slot.image().data(),
                           static_cast<Py_ssize_t>(slot.capacity()), 0, flags);
}

PyType_Slot slot_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

// (name, dtype, shape, offsets, begin, end) of every piece of a part of the image.
void add_pieces(const Whole& whole, const Range& part, nb::list& pieces) {
  if (part.bytes() == 0) return;
  const auto* begin = reinterpret_cast<const char*>(whole.slot->image().data()) + part.begin;
  const std::string& path = whole.slot->path();
  auto bytes = checkpoint::safetensors_head_bytes({begin, 8}, part.bytes(), path);
  raise_if_bad(bytes.status());
  auto header = checkpoint::parse_safetensors({begin, *bytes}, part.bytes(), path);
  raise_if_bad(header.status());
  for (const checkpoint::StoredPiece& stored : header->pieces) {
    pieces.append(nb::make_tuple(stored.piece.name, std::string(name_of(stored.piece.dtype)),
                                 stored.piece.shape, stored.piece.offsets,
                                 part.begin + stored.begin, part.begin + stored.end));
  }
}

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
      .def_prop_ro("world_size", [](const Whole& whole) { return whole.facts.world_size; })
      .def_prop_ro("layout", [](const Whole& whole) { return whole.facts.layout_hash; })
      .def_prop_ro("pieces", [](const Whole& whole) {
        nb::list pieces;
        add_pieces(whole, whole.facts.own, pieces);
        add_pieces(whole, whole.facts.rest, pieces);
        return pieces;
      });
}

}  // namespace headway::python
