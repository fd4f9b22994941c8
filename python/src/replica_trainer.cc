// replica::Trainer for Python. Whatever copies or waits does so without the interpreter's lock.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "headway/headway.h"
#include "pieces.h"
#include "replica/memory_room.h"
#include "replica/trainer.h"
#include "replica_module.h"

namespace headway::python {
namespace {

namespace nb = nanobind;
using replica::ChangedRows;
using replica::Message;
using replica::Slot;
using replica::Whole;

using OwnedPiece = std::pair<PieceTuple, bool>;
using RecordCheckpoint = void (*)(std::int64_t step, std::int64_t data, int state);

constexpr std::size_t kNewsMax = 256;
constexpr std::size_t kPositionsMax = 64;

std::int64_t to_ns(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

const char* kind_of(replica::Say say) {
  switch (say) {
    case replica::Say::durable:
      return "durable";
    case replica::Say::uploaded:
      return "uploaded";
    case replica::Say::not_uploaded:
      return "not_uploaded";
    default:
      return "failed";
  }
}

// What is recorded of it; 0: nothing.
int state_of(const Message& message) {
  switch (message.say) {
    case replica::Say::durable:
      return HW_CHECKPOINT_DURABLE;
    case replica::Say::uploaded:
      return HW_CHECKPOINT_UPLOADED;
    case replica::Say::failed:  // of a step; without one it is about memory
      return message.step != 0 ? HW_CHECKPOINT_FAILED : 0;
    default:
      return 0;
  }
}

// News come on the link's thread: kept until Python asks, and recorded at once.
class News {
 public:
  explicit News(RecordCheckpoint record) : record_(record) {}

  void expect(std::uint64_t step, std::int64_t data) {
    const std::lock_guard lock(mutex_);
    positions_[step] = data;
    if (positions_.size() > kPositionsMax) positions_.erase(positions_.begin());
  }
  void take(const Message& message) {
    const std::lock_guard lock(mutex_);
    const int state = state_of(message);
    if (state != 0 && record_ != nullptr) {
      const auto data = positions_.find(message.step);
      record_(static_cast<std::int64_t>(message.step),
              data != positions_.end() ? data->second : HW_NO_DATA, state);
    }
    if (news_.size() == kNewsMax) news_.pop_front();
    news_.push_back(message);
  }
  std::deque<Message> give() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
  }

 private:
  const RecordCheckpoint record_;
  std::mutex mutex_;
  std::deque<Message> news_;
  std::map<std::uint64_t, std::int64_t> positions_;
};

class PyTrainer {
 public:
  PyTrainer(replica::LinkOptions options, unsigned threads, RecordCheckpoint record)
      : news_(record), trainer_(with_news(std::move(options)), threads) {}

  // Begin and end in the image of every piece.
  using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  Places plan(const std::vector<OwnedPiece>& given, std::uint32_t slots) {
    std::vector<replica::ImagePiece> pieces;
    for (const auto& [piece, own] : given) pieces.push_back({to_piece(piece), own});
    raise_if_bad(trainer_.plan(pieces, slots));
    return places_of(trainer_.stage()->plan().places);
  }
  // The same of every piece in a save of rows, (0, 0) of tables; None: it has to be a whole one.
  std::optional<Places> plan_rows(const std::vector<std::pair<std::size_t, ChangedRows*>>& given,
                                  bool persist) {
    std::vector<replica::Trainer::Table> tables;
    for (const auto& [piece, changed] : given) tables.push_back({piece, changed});
    auto planned = [&] {
      const nb::gil_scoped_release release;
      return trainer_.plan_rows(tables, persist);
    }();
    raise_if_bad(planned.status());
    if (!*planned) return std::nullopt;
    return places_of(trainer_.rows_places());
  }
  // `way`: Trainer::fill or Trainer::fill_rows.
  template <auto way>
  void fill(const std::shared_ptr<Slot>& slot, std::uint64_t step, std::int64_t data,
            std::int64_t time_ns, bool persist, const std::vector<std::uintptr_t>& addresses) {
    const auto sources = sources_of(addresses);
    news_.expect(step, data);
    const nb::gil_scoped_release release;
    (trainer_.*way)(slot, {step, data, time_ns, persist}, sources);
  }
  nb::list news() {
    nb::list news;
    for (const Message& message : news_.give()) {
      news.append(nb::make_tuple(kind_of(message.say), message.step, message.text,
                                 static_cast<double>(message.nanoseconds) / 1e9, message.skipped));
    }
    return news;
  }
  replica::Trainer& trainer() { return trainer_; }

 private:
  static Places places_of(const std::vector<replica::Range>& ranges) {
    Places places;
    for (const auto& range : ranges) places.emplace_back(range.begin, range.end);
    return places;
  }
  static std::vector<replica::Source> sources_of(const std::vector<std::uintptr_t>& addresses) {
    std::vector<replica::Source> sources;
    for (const std::byte* at : to_sources(addresses)) sources.push_back({.at = at});
    return sources;
  }
  replica::LinkOptions with_news(replica::LinkOptions options) {
    options.on_news = [this](const Message& message) { news_.take(message); };
    return options;
  }

  News news_;
  replica::Trainer trainer_;
};

}  // namespace

void add_trainer(nb::module_& module) {
  module.def("memory_room", &replica::memory_room, nb::arg("folder"));
  nb::class_<ChangedRows>(module, "ChangedRows")
      .def(nb::init<std::uint64_t>(), nb::arg("rows"))
      // So many of them lie at this address, of so many bytes each.
      .def(
          "mark",
          [](ChangedRows& self, std::uintptr_t address, std::size_t count, std::size_t bytes) {
            if (bytes == sizeof(std::int64_t)) {
              self.mark(std::span(reinterpret_cast<const std::int64_t*>(address), count));
            } else if (bytes == sizeof(std::int32_t)) {
              self.mark(std::span(reinterpret_cast<const std::int32_t*>(address), count));
            } else {
              throw nb::value_error("row numbers are of 4 or 8 bytes");
            }
          },
          nb::arg("address"), nb::arg("count"), nb::arg("bytes"),
          nb::call_guard<nb::gil_scoped_release>())
      .def("mark_all", &ChangedRows::mark_all)
      .def("sealed", &ChangedRows::sealed, nb::arg("persist"));
  nb::class_<PyTrainer>(module, "Trainer")
      .def(
          "__init__",
          [](PyTrainer* self, const std::string& folder, const std::string& checkpoints,
             const std::string& job, std::uint64_t attempt, std::uint64_t run, std::uint32_t rank,
             std::uint32_t world_size, std::uint32_t local_world_size,
             const std::vector<std::string>& command, unsigned threads, std::uint32_t keep_last,
             double keep_every_s, const std::string& upload, std::uint32_t keep_uploaded,
             nb::object record) {
            replica::LinkOptions options;
            options.folder = folder;
            options.command = command;
            Message& hello = options.hello;
            hello.folder = checkpoints;
            hello.job = job;
            hello.attempt = attempt;
            hello.run = run;
            hello.rank = rank;
            hello.world_size = world_size;
            hello.local_world_size = local_world_size;
            hello.keep_last = keep_last;
            hello.keep_every_ns = to_ns(keep_every_s);
            hello.upload = upload;
            hello.keep_uploaded = keep_uploaded;
            void* function = record.is_none()
                                 ? nullptr
                                 : PyCapsule_GetPointer(record.ptr(), "headway.hw_checkpoint");
            if (PyErr_Occurred() != nullptr) throw nb::python_error();
            new (self) PyTrainer(std::move(options), threads,
                                 reinterpret_cast<RecordCheckpoint>(function));
          },
          nb::kw_only(), nb::arg("folder"), nb::arg("checkpoints"), nb::arg("job"),
          nb::arg("attempt"), nb::arg("run"), nb::arg("rank"), nb::arg("world_size"),
          nb::arg("local_world_size"), nb::arg("command"), nb::arg("threads"), nb::arg("keep_last"),
          nb::arg("keep_every_s"), nb::arg("upload"), nb::arg("keep_uploaded"),
          nb::arg("record").none())
      .def("plan", &PyTrainer::plan, nb::arg("pieces"), nb::arg("slots"))
      .def(
          "wait_for_slot",
          [](PyTrainer& self, double wait_s) {
            return self.trainer().wait_for_slot(to_ns(wait_s));
          },
          nb::arg("wait_s"), nb::call_guard<nb::gil_scoped_release>())
      .def("begin", [](PyTrainer& self) { return self.trainer().begin(); })
      .def("plan_rows", &PyTrainer::plan_rows, nb::arg("tables"), nb::arg("persist"))
      .def(
          "wait_for_rows_slot",
          [](PyTrainer& self, double wait_s) {
            return self.trainer().wait_for_rows_slot(to_ns(wait_s));
          },
          nb::arg("wait_s"), nb::call_guard<nb::gil_scoped_release>())
      .def("begin_rows", [](PyTrainer& self) { return self.trainer().begin_rows(); })
      .def("fill_rows", &PyTrainer::fill<&replica::Trainer::fill_rows>, nb::arg("slot"),
           nb::arg("step"), nb::arg("data"), nb::arg("time_ns"), nb::arg("persist"),
           nb::arg("sources"))
      .def("fill", &PyTrainer::fill<&replica::Trainer::fill>, nb::arg("slot"), nb::arg("step"),
           nb::arg("data"), nb::arg("time_ns"), nb::arg("persist"), nb::arg("sources"))
      .def("refusal", [](PyTrainer& self) { return self.trainer().refusal(); })
      .def("bye", [](PyTrainer& self) { self.trainer().bye(); })
      .def(
          "found_damaged",
          [](PyTrainer& self, std::vector<std::string> names) {
            self.trainer().found_damaged(std::move(names));
          },
          nb::arg("names"))
      .def("news", &PyTrainer::news)
      .def(
          "left_behind",
          [](PyTrainer& self, double wait_s) { return self.trainer().left_behind(to_ns(wait_s)); },
          nb::arg("wait_s"), nb::call_guard<nb::gil_scoped_release>())
      .def("free_live", [](PyTrainer& self) { self.trainer().free_live(); })
      .def("forget", [](PyTrainer& self) { self.trainer().forget(); })
      .def("verify",
           [](PyTrainer& self, const Whole& whole) {
             base::Status status;
             {
               const nb::gil_scoped_release release;
               status = self.trainer().verify(whole);
             }
             raise_if_bad(status);
           })
      .def(
          "adopt",
          [](PyTrainer& self, const Whole& whole, bool on_disk, bool persist) {
            return self.trainer().adopt(whole, on_disk, persist);
          },
          nb::arg("whole"), nb::arg("on_disk"), nb::arg("persist"),
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "persist", [](PyTrainer& self, const Whole& whole) { self.trainer().persist(whole); },
          nb::arg("whole"))
      .def(
          "settle",
          [](PyTrainer& self, double wait_s) { return self.trainer().settle(to_ns(wait_s)); },
          nb::arg("wait_s"), nb::call_guard<nb::gil_scoped_release>())
      .def("take_changed_early",
           [](PyTrainer& self) { return self.trainer().take_changed_early(); });
}

}  // namespace headway::python
