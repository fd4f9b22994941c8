// Drafts for Python: the files of a checkpoint, written by whoever has the tensors, and its commit.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/file_system.h"
#include "checkpoint/folder.h"
#include "checkpoint/lock.h"
#include "checkpoint/prune.h"
#include "checkpoint/shard.h"
#include "checkpoint/writable.h"
#include "pieces.h"
#include "replica_module.h"

namespace headway::python {
namespace {

namespace nb = nanobind;

// name, rank, bytes, bytes of a chunk, checksums
using Entry = std::tuple<std::string, std::uint32_t, std::uint64_t, std::uint64_t,
                         std::vector<std::uint32_t>>;

class Draft {
 public:
  Draft(const std::string& path, std::uint64_t step, std::uint32_t world_size,
        const std::string& job, std::optional<std::uint64_t> data, std::uint64_t attempt,
        std::optional<std::int64_t> time_ns)
      : folder_(base::real_file_system(), path) {
    checkpoint::Manifest facts;
    facts.step = step;
    facts.data = data.value_or(step);
    facts.world_size = world_size;
    facts.job = job;
    facts.attempt = attempt;
    facts.time_ns = time_ns.value_or(std::chrono::system_clock::now().time_since_epoch() /
                                     std::chrono::nanoseconds(1));
    auto draft = checkpoint::Draft::begin(folder_, std::move(facts));
    raise_if_bad(draft.status());
    draft_ = std::move(*draft);
  }
  const std::string& path() const { return draft_->path(); }
  void take(const Entry& given) {
    checkpoint::ManifestFile entry;
    std::tie(entry.name, entry.rank, entry.bytes, entry.chunk_bytes, entry.crc32c) = given;
    draft_->take(std::move(entry));
  }
  std::string commit() {
    auto name = [this] {
      const nb::gil_scoped_release release;
      return draft_->commit();
    }();
    raise_if_bad(name.status());
    return folder_.path_of(*name);
  }

 private:
  checkpoint::CheckpointFolder folder_;
  std::unique_ptr<checkpoint::Draft> draft_;
};

// Of a folder of checkpoints, which is made if there is none: until the object is gone.
class FolderLock {
 public:
  FolderLock(const std::string& folder, const std::string& purpose)
      : lock_(take(folder, purpose)) {}
  [[nodiscard]] bool is_at(const std::string& folder) const { return lock_.is_at(folder); }

 private:
  static checkpoint::FolderLock take(const std::string& folder, const std::string& purpose) {
    if (const base::Status made = base::make_dirs(folder); !made.ok()) {
      raise_if_bad(checkpoint::with_unwritable_advice(made, folder));
    }
    auto lock = checkpoint::FolderLock::take(folder, purpose);
    raise_if_bad(lock.status());
    return std::move(*lock);
  }
  checkpoint::FolderLock lock_;
};

Entry write_shard(const std::string& draft_path, const std::string& name, std::uint32_t rank,
                  const std::vector<PieceTuple>& given,
                  const std::vector<std::uintptr_t>& addresses) {
  const auto pieces = to_pieces(given);
  const auto sources = to_sources(addresses);
  auto entry = [&] {
    const nb::gil_scoped_release release;
    return checkpoint::write_shard(base::real_file_system(), draft_path, name, rank, pieces,
                                   sources);
  }();
  raise_if_bad(entry.status());
  return {entry->name, entry->rank, entry->bytes, entry->chunk_bytes, entry->crc32c};
}

// `damaged`: names of some that are known to be.
void prune(const std::string& folder, std::size_t keep_last, double keep_every_s,
           const std::vector<std::string>& damaged) {
  const nb::gil_scoped_release release;
  base::FileSystem& files = base::real_file_system();
  const checkpoint::RetentionPolicy policy{keep_last, static_cast<std::int64_t>(keep_every_s * 1e9),
                                           false};
  std::vector<std::string> paths;
  for (const std::string& name : damaged) paths.push_back(folder + "/" + name);
  auto plan = checkpoint::plan_prune(files, folder, policy, paths);
  raise_if_bad(plan.ok() ? checkpoint::execute_prune(files, folder, *plan) : plan.status());
}

}  // namespace

void add_draft(nb::module_& module) {
  nb::class_<Draft>(module, "Draft")
      .def(nb::init<const std::string&, std::uint64_t, std::uint32_t, const std::string&,
                    std::optional<std::uint64_t>, std::uint64_t, std::optional<std::int64_t>>(),
           nb::arg("folder"), nb::arg("step"), nb::arg("world_size"), nb::arg("job"),
           nb::arg("data") = nb::none(), nb::arg("attempt") = 0, nb::arg("time_ns") = nb::none())
      .def_prop_ro("path", &Draft::path)
      .def("take", &Draft::take)
      .def("commit", &Draft::commit);
  nb::class_<FolderLock>(module, "FolderLock", nb::is_weak_referenceable())
      .def(nb::init<const std::string&, const std::string&>(), nb::arg("folder"),
           nb::arg("purpose"))
      .def("is_at", &FolderLock::is_at, nb::arg("folder"));
  module.def("prune", &prune, nb::arg("folder"), nb::arg("keep_last"), nb::arg("keep_every_s"),
             nb::arg("damaged"));
  module.def("write_shard", &write_shard, nb::arg("draft"), nb::arg("name"), nb::arg("rank"),
             nb::arg("pieces"), nb::arg("sources"));
}

}  // namespace headway::python
