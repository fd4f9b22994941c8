#include "compile/guard_sources.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/crc32c.h"

namespace headway::compile {
namespace {

constexpr std::string_view kSource = "GuardManager: source=";
constexpr std::string_view kAccess = ", accessed_by=";
constexpr std::string_view kType = "type=<class '";

constexpr std::array<std::string_view, 2> kConditions = {"+- EQUALS_MATCH: ", "+- LAMBDA_GUARD: "};

using OnTyped = std::function<void(std::string_view source, std::string_view type)>;

void find_typed_sources(std::string_view guards, const OnTyped& on_typed) {
  for (std::size_t at = guards.find(kSource); at != std::string_view::npos;
       at = guards.find(kSource, at)) {
    at += kSource.size();
    const std::string_view line = guards.substr(at, guards.find('\n', at) - at);
    const std::size_t name_end = line.rfind(kAccess);
    const std::size_t type_at = line.rfind(kType);
    if (name_end == 0 || name_end == std::string_view::npos || type_at == std::string_view::npos) {
      continue;
    }
    const std::string_view type = line.substr(type_at + kType.size());
    on_typed(line.substr(0, name_end), type.substr(0, type.find('\'')));
  }
}

// What a line of the tree asks, without torch's comment; "": nothing of the kind.
std::string_view condition_of(std::string_view line) {
  for (const std::string_view kind : kConditions) {
    const std::size_t at = line.find(kind);
    if (at == std::string_view::npos) continue;
    line.remove_prefix(at + kind.size());
    line = line.substr(0, line.find("  #"));
    return line.substr(0, line.find_last_not_of(' ') + 1);
  }
  return {};
}

// Of `sources` one that is asked about: "L['s'] == 1.5" by its front, else anywhere.
bool is_about(std::string_view condition, const std::set<std::string_view>& sources) {
  if (sources.contains(condition.substr(0, condition.find(" == ")))) return true;
  return std::ranges::any_of(sources, [&](std::string_view source) {
    return condition.find(source) != std::string_view::npos;
  });
}

}  // namespace

void find_guard_sources(std::string_view guards, const OnSource& on_source) {
  find_typed_sources(guards, [&](std::string_view source, std::string_view type) {
    const bool number = type == "int";
    const bool tensor = type.find("Tensor") != std::string_view::npos ||
                        type.ends_with(".Parameter") || type.ends_with(".Buffer");
    if (number || tensor) on_source(source, number);
  });
}

std::uint32_t float_guards(std::string_view guards) {
  std::set<std::string_view> floats;
  find_typed_sources(guards, [&](std::string_view source, std::string_view type) {
    if (type == "float") floats.insert(source);
  });
  if (floats.empty()) return 0;
  std::set<std::string_view> conditions;  // torch writes some of them twice
  while (!guards.empty()) {
    const std::string_view line = guards.substr(0, guards.find('\n'));
    guards.remove_prefix(std::min(line.size() + 1, guards.size()));
    const std::string_view condition = condition_of(line);
    // Every number that is dynamic is asked whether it is one.
    if (condition.empty() || condition.starts_with("not math.isnan(")) continue;
    if (is_about(condition, floats)) conditions.insert(condition);
  }
  std::uint32_t digest = 0;
  for (const std::string_view condition : conditions) {
    digest = base::crc32c(condition.data(), condition.size(), digest);
  }
  return digest;
}

}  // namespace headway::compile
