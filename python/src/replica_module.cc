#include "replica_module.h"

NB_MODULE(_replica, module) {
  using namespace headway::python;
  nanobind::set_leak_warnings(false);  // adopted tensors live as long as the process
  const auto error =
      nanobind::exception<CheckpointError>(module, "CheckpointError", PyExc_RuntimeError);
  nanobind::exception<CheckpointDamaged>(module, "CheckpointDamagedError", error);
  add_slot(module);
  add_draft(module);
  add_reader(module);
  add_trainer(module);
  add_tuner(module);
}
