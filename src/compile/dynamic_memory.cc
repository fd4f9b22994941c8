#include "compile/dynamic_memory.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace headway::compile {
namespace {

using base::Result;
using base::Status;
using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;
constexpr std::int32_t kDimMax = 1000;

Json record_json(const TrialRecord& r) {
  return {{"job", r.job},           {"attempt", r.attempt},
          {"setup", r.setup},       {"applied", r.applied},
          {"steps", r.steps},       {"measured", r.measured},
          {"step_ns", r.step_ns},   {"spread_ns", r.spread_ns},
          {"compiles", r.compiles}, {"compile_us", r.compile_us},
          {"saved_us", r.saved_us}};
}

Json sources_json(const std::set<SourceDim>& sources) {
  Json out = Json::array();
  for (const SourceDim& at : sources) {
    out.push_back({{"source", at.source}, {"dim", at.dim < 0 ? Json() : Json(at.dim)}});
  }
  return out;
}

// Asked for what may not be there, or be something else.
std::string text_in(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}
std::int64_t count_in(const Json& object, const char* key) {
  constexpr std::int64_t kMax = std::int64_t{1} << 53;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer()) return 0;
  if (it->is_number_unsigned() && it->get<std::uint64_t>() > static_cast<std::uint64_t>(kMax)) {
    return 0;
  }
  const auto value = it->get<std::int64_t>();
  return value < 0 || value > kMax ? 0 : value;
}
bool flag_in(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

Status read_sources(const Json& file, const char* key, std::set<SourceDim>& out) {
  const auto list = file.find(key);
  if (list == file.end() || !list->is_array()) {
    return Status::invalid(fmt::format("it has no list of {}", key));
  }
  for (const Json& one : *list) {
    const std::string source = one.is_object() ? text_in(one, "source") : std::string();
    const auto dim = one.is_object() ? one.find("dim") : one.end();
    const bool number = one.is_object() && dim != one.end() && dim->is_null();
    const std::int64_t value = number || !one.is_object() ? -1 : count_in(one, "dim");
    const bool fits =
        !source.empty() && source.size() <= kSourceBytesMax && is_lasting_name(source);
    if (!fits || (!number && (dim == one.end() || !dim->is_number_integer() || value >= kDimMax))) {
      return Status::invalid(fmt::format("one of its {} is no source", key));
    }
    if (out.size() >= kMemorySourcesMax) return Status::invalid(fmt::format("too many {}", key));
    out.insert({source, static_cast<std::int32_t>(value)});
  }
  return {};
}

Status read_known(const Json& file, DynamicMemory& out) {
  for (const auto& [key, number] : {std::pair("tensors", false), std::pair("numbers", true)}) {
    const auto list = file.find(key);
    if (list == file.end() || !list->is_array()) {
      return Status::invalid(fmt::format("it has no list of {}", key));
    }
    for (const Json& one : *list) {
      if (!one.is_string()) return Status::invalid(fmt::format("one of its {} is no name", key));
      if (out.known.size() >= kMemoryKnownMax) return Status::invalid("too many names");
      out.known.insert({one.get<std::string>(), number});
    }
  }
  return {};
}

}  // namespace

std::size_t DynamicMemory::learn(const DynamicFindings& findings) {
  std::size_t added = 0;
  for (const KnownSource& one : findings.known) {
    if (known.size() < kMemoryKnownMax) {
      known.insert(one);
    } else if (!known.contains(one)) {
      known_whole = false;
    }
  }
  if (!findings.known_whole) known_whole = false;
  for (const SourceDim& at : findings.useless) {
    sources.erase(at);
    if (useless.size() < kMemorySourcesMax) useless.insert(at);
  }
  for (const DynamicSource& source : findings.sources) {
    if (useless.contains(source.at)) continue;
    if (sources.size() >= kMemorySourcesMax) break;
    added += sources.insert(source.at).second ? 1 : 0;
  }
  return added;
}

void DynamicMemory::add_record(TrialRecord record) {
  // An attempt is recorded once; of each kind the newest stay, so that none pushes the other out.
  std::erase_if(records, [&](const TrialRecord& one) {
    return one.job == record.job && one.attempt == record.attempt;
  });
  const bool applied = record.applied;
  records.push_back(std::move(record));
  std::size_t same = 0;
  for (std::size_t i = records.size(); i-- > 0;) {
    if (records[i].applied != applied || ++same <= kMemoryRecordsMax / 2) continue;
    records.erase(records.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::string DynamicMemory::setting() const {
  DynamicFindings findings;
  findings.known = known;
  findings.known_whole = known_whole;
  for (const SourceDim& at : sources) {
    DynamicSource source;
    source.at = at;
    findings.sources.push_back(std::move(source));
  }
  write_setting(findings);
  return findings.setting;
}

std::string write_memory(const DynamicMemory& memory) {
  Json tensors = Json::array(), numbers = Json::array();
  for (const KnownSource& one : memory.known) {
    (one.number ? numbers : tensors).push_back(one.source);
  }
  Json records = Json::array();
  for (const TrialRecord& record : memory.records) records.push_back(record_json(record));
  const Json file = {{"version", kVersion},
                     {"family", memory.family},
                     {"taken_back", memory.taken_back},
                     {"sources", sources_json(memory.sources)},
                     {"useless", sources_json(memory.useless)},
                     {"records", std::move(records)},
                     {"known_whole", memory.known_whole},
                     {"tensors", std::move(tensors)},
                     {"numbers", std::move(numbers)}};
  return file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<DynamicMemory> read_memory(std::string_view text) {
  if (text.size() > kMemoryBytesMax) return Status::invalid("it is too long");
  const Json file = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!file.is_object()) return Status::invalid("it is not JSON");
  if (count_in(file, "version") != kVersion) {
    return Status::invalid(fmt::format("it is not of version {}", kVersion));
  }
  DynamicMemory out;
  out.family = text_in(file, "family");
  out.taken_back = text_in(file, "taken_back");
  out.known_whole = flag_in(file, "known_whole");
  for (const auto& [key, into] :
       {std::pair("sources", &out.sources), std::pair("useless", &out.useless)}) {
    if (Status status = read_sources(file, key, *into); !status.ok()) return status;
  }
  if (Status status = read_known(file, out); !status.ok()) return status;
  const auto records = file.find("records");
  if (records == file.end() || !records->is_array()) return Status::invalid("it has no records");
  for (const Json& one : *records) {
    if (!one.is_object()) return Status::invalid("one of its records is none");
    TrialRecord r;
    r.job = text_in(one, "job");
    r.attempt = static_cast<std::uint64_t>(count_in(one, "attempt"));
    r.setup = text_in(one, "setup");
    r.applied = flag_in(one, "applied");
    r.steps = count_in(one, "steps");
    r.measured = count_in(one, "measured");
    r.step_ns = count_in(one, "step_ns");
    r.spread_ns = count_in(one, "spread_ns");
    r.compiles = count_in(one, "compiles");
    r.compile_us = count_in(one, "compile_us");
    r.saved_us = count_in(one, "saved_us");
    out.add_record(std::move(r));
  }
  return out;
}

}  // namespace headway::compile
