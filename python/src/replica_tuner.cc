// interval::Tuner for Python: when to save, from what saves cost and how often the job fails.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "interval/tuner.h"
#include "replica_module.h"

namespace headway::python {
namespace {

namespace nb = nanobind;
using interval::Tuner;

// What is carried over to the next attempt, as plain numbers: failures by tier, seconds in the
// loop, and of a save blocking, interference, lag and staging (all negative: none was seen).
using Memory = std::vector<double>;
constexpr std::size_t kMemoryNumbers = 8;

Memory to_numbers(const interval::TunerMemory& memory) {
  Memory numbers(memory.history.failures.begin(), memory.history.failures.end());
  numbers.push_back(memory.history.seconds);
  const interval::SaveCost none{-1, -1, -1, 1, -1};
  const interval::SaveCost& cost = memory.cost ? *memory.cost : none;
  for (const double number :
       {cost.blocking_s, cost.interference_s, cost.persist_lag_s, cost.stage_s}) {
    numbers.push_back(number);
  }
  return numbers;
}

interval::TunerMemory from_numbers(const Memory& numbers) {
  interval::TunerMemory memory;
  if (numbers.size() != kMemoryNumbers) return memory;
  for (std::size_t i = 0; i < interval::kTiers; ++i) memory.history.failures[i] = numbers[i];
  memory.history.seconds = numbers[3];
  if (numbers[4] >= 0) {
    memory.cost = interval::SaveCost{.blocking_s = numbers[4],
                                     .interference_s = numbers[5],
                                     .persist_lag_s = numbers[6],
                                     .stage_s = numbers[7]};
  }
  return memory;
}

void make(Tuner* self, bool replica, double min_s, double max_s, const Memory& memory,
          const std::array<double, interval::kTiers>& failures,
          const std::array<double, interval::kTiers + 1>& family, std::int64_t now_ns) {
  interval::TunerSettings settings;
  settings.replica = replica;
  settings.bounds.min_s = min_s;
  settings.bounds.max_s = max_s;
  settings.earlier = from_numbers(memory);
  settings.earlier.history += interval::History{failures, 0};
  std::copy_n(family.begin(), interval::kTiers, settings.family.failures.begin());
  settings.family.seconds = family.back();
  new (self) Tuner(settings, now_ns);
}

}  // namespace

void add_tuner(nb::module_& module) {
  nb::class_<Tuner>(module, "Tuner")
      .def("__init__", &make, nb::kw_only(), nb::arg("replica"), nb::arg("min_s"), nb::arg("max_s"),
           nb::arg("memory"), nb::arg("failures"), nb::arg("family"), nb::arg("now_ns"))
      .def(
          "step_ended",
          [](Tuner& self, std::int64_t now_ns, std::int64_t step, std::int64_t other_ns) {
            self.step_ended(now_ns, step, other_ns);
          },
          nb::arg("now_ns"), nb::arg("step"), nb::arg("other_ns") = 0)
      // (into memory, on to storage)
      .def("should_save",
           [](const Tuner& self, std::int64_t now_ns, std::int64_t step) {
             const interval::Decision decision = self.should_save(now_ns, step);
             return std::pair(decision.stage, decision.persist);
           })
      .def("save_started", &Tuner::save_started, nb::arg("now_ns"), nb::arg("step"),
           nb::arg("persist"))
      .def("save_returned", &Tuner::save_returned, nb::arg("now_ns"), nb::arg("step"))
      .def("save_durable", &Tuner::save_durable, nb::arg("now_ns"), nb::arg("step"))
      .def("save_failed", &Tuner::save_failed, nb::arg("now_ns"), nb::arg("step"))
      .def("plan",
           [](const Tuner& self) {
             const interval::Plan plan = self.plan();
             return std::pair(plan.stage_s, plan.persist_s);
           })
      .def("memory", [](const Tuner& self) { return to_numbers(self.memory()); });
}

}  // namespace headway::python
