#include "journal.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string>
#include <string_view>

#include "event/event.h"
#include "record/journal_reader.h"

namespace headway::python {
namespace {

namespace nb = nanobind;
using event::EventType;

std::string_view type_name(EventType type) {
  switch (type) {
    case EventType::mark:
      return "mark";
    case EventType::begin:
      return "begin";
    case EventType::end:
      return "end";
    case EventType::step:
      return "step";
    case EventType::step_end:
      return "step_end";
    case EventType::checkpoint:
      return "checkpoint";
    case EventType::restore:
      return "restore";
    case EventType::hang:
      return "hang";
    case EventType::attr:
      return "attr";
    case EventType::device_done:
      return "device_done";
    case EventType::none:
    case EventType::name:
    case EventType::anchor:
      break;
  }
  return "other";
}

std::string_view event_name(const event::Event& e, const event::NameTable& names) {
  switch (e.type) {
    case EventType::mark:
      return event::mark_name(e.name);
    case EventType::checkpoint:
      return event::checkpoint_state_name(e.name);
    case EventType::begin:
    case EventType::end: {
      const std::string_view builtin = event::phase_name(e.name);
      return builtin.empty() ? names.text(e.name) : builtin;
    }
    case EventType::restore:
    case EventType::attr:
      return names.text(e.name);
    default:
      return "";
  }
}

nb::object number(std::int64_t value) {
  return value == HW_NO_DATA ? nb::none() : nb::object(nb::int_(value));
}

nb::tuple as_tuple(const event::Event& e, const event::NameTable& names) {
  nb::object a = number(e.a);
  nb::object b = number(e.b);
  const bool is_end =
      e.type == EventType::mark && (e.name == HW_MARK_FAILURE || e.name == HW_MARK_EXIT);
  if (is_end) {
    const event::EndInfo info = event::unpack_end(e.a, e.b);
    a = nb::make_tuple(info.exit_code, info.signal, event::origin_name(info.origin), info.rank);
    b = nb::cast(names.text(info.reason));
  } else if (e.type == EventType::attr) {
    a = nb::cast(names.text(static_cast<event::NameId>(e.a)));
  }
  return nb::make_tuple(e.t_ns, e.lane, type_name(e.type), event_name(e, names), a, b);
}

nb::list read_journal(const std::string& path) {
  event::NameTable names;
  auto reader = record::JournalReader::open(path, names);
  if (!reader.ok()) throw nb::value_error(reader.status().message().c_str());
  reader.value()->set_final();
  nb::list rows;
  for (auto batch = reader.value()->next(); !batch.empty(); batch = reader.value()->next()) {
    for (const event::Event& e : batch) rows.append(as_tuple(e, names));
  }
  return rows;
}

}  // namespace

void add_journal(nb::module_& module) {
  module.def("read_journal", &read_journal, nb::arg("path"),
             "A journal's events as (t_ns, lane, type, name, a, b).");
}

}  // namespace headway::python
