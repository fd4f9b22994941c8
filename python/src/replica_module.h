// headway._replica: checkpoints for Python. One file each for what a module's part is.
#pragma once

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

#include "base/status.h"

namespace headway::python {

// CheckpointError in Python: one line for a person.
struct CheckpointError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// CheckpointDamagedError: surely not what was saved.
struct CheckpointDamaged : CheckpointError {
  using CheckpointError::CheckpointError;
};
inline void raise_if_bad(const base::Status& status) {
  if (status.ok()) return;
  if (status.code() == base::Code::corrupt) throw CheckpointDamaged(status.message());
  throw CheckpointError(status.message());
}

void add_slot(nanobind::module_& module);
void add_draft(nanobind::module_& module);
void add_reader(nanobind::module_& module);
void add_tuner(nanobind::module_& module);
void add_trainer(nanobind::module_& module);

}  // namespace headway::python
