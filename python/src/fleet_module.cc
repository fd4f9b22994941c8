// headway._fleet: a job's journals attributed by the same code as in `headway report` and in the
// collector, for Spark's executors (headway.fleet). A module of its own: no trainer loads it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "cli/fleet_job.h"
#include "fleet/bucket_words.h"
#include "fleet/fact_bytes.h"
#include "fleet_columns.h"

namespace headway::python {
namespace {

namespace nb = nanobind;
using fleet::AttemptFacts;

// (job, [(attempt, bytes of its fact)], [(what was lost, file, reason)])
nb::tuple attribute(const std::string& folder) {
  auto found = [&] {
    const nb::gil_scoped_release others_may_run;
    return cli::facts_of_folder(folder);
  }();
  if (!found.ok()) throw nb::value_error(found.status().message().c_str());
  nb::list facts, notes;
  for (const AttemptFacts& each : found->attempts) {
    const std::vector<std::byte> bytes = fleet::to_bytes(each);
    facts.append(nb::make_tuple(
        each.attempt, nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
  }
  for (const cli::FolderNote& note : found->notes) {
    notes.append(nb::make_tuple(text_of(cli::lost_name(note.lost)), text_of(note.file),
                                text_of(note.reason)));
  }
  return nb::make_tuple(text_of(found->job), facts, notes);
}

std::vector<AttemptFacts> read(const nb::list& facts) {
  std::vector<AttemptFacts> out;
  for (const nb::handle each : facts) {
    const auto bytes = nb::cast<nb::bytes>(each);
    auto read = fleet::facts_from_bytes(
        {reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size()}, "fact");
    if (!read.ok()) throw nb::value_error(read.status().message().c_str());
    out.push_back(std::move(*read));
  }
  return out;
}

nb::list bucket_words() {
  nb::list out;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    out.append(text_of(fleet::bucket_word(static_cast<timeline::Bucket>(i))));
  }
  return out;
}

}  // namespace

NB_MODULE(_fleet, module) {
  module.def("attribute", &attribute, nb::arg("folder"),
             "The facts of a job's attempts (docs/formats/fact.md) from the journals in its "
             "folder: (job, [(attempt, fact)], [(lost, file, reason)]). ValueError: nothing of it "
             "can be read.");
  module.def(
      "attempt_columns", [](const nb::list& facts) { return attempt_columns(read(facts)); },
      nb::arg("facts"), "Facts as columns, a row for each: (name, type, data, valid).");
  module.def(
      "slice_columns", [](const nb::list& facts) { return slice_columns(read(facts)); },
      nb::arg("facts"), "The same with a row for each attempt and day.");
  module.def("bucket_words", &bucket_words, "The buckets of the partition, in order.");
}

}  // namespace headway::python
