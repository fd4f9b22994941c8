#include "cache/binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file_system.h"
#include "cache/format.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;
using Json = nlohmann::ordered_json;

constexpr std::size_t kFlagBytesMax = 64;

struct Field {
  const char* name;
  std::string Binding::* text;
};
// Those that make up the identity first.
constexpr Field kFields[] = {
    {"torch", &Binding::torch},   {"torch_git", &Binding::torch_git},
    {"python", &Binding::python}, {"environment", &Binding::environment},
    {"arch", &Binding::arch},     {"gpu", &Binding::gpu},
    {"family", &Binding::family},
};
constexpr std::size_t kIdentityFields = 6;

bool is_printable(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

bool take_flags(const Json& json, std::vector<std::string>& flags) {
  const auto it = json.find("cpu_flags");
  if (it == json.end() || !it->is_array() || it->size() > cpu_flags_max) return false;
  for (const Json& each : *it) {
    if (!each.is_string()) return false;
    std::string flag = each.get<std::string>();
    if (flag.empty() || flag.size() > kFlagBytesMax || !is_printable(flag)) return false;
    if (!flags.empty() && flag <= flags.back()) return false;  // sorted, each once
    flags.push_back(std::move(flag));
  }
  return true;
}

// Older archives have none.
bool take_commands(const Json& json, std::vector<std::string>& commands) {
  const auto it = json.find("commands");
  if (it == json.end()) return true;
  if (!it->is_array() || it->size() > commands_max) return false;
  for (const Json& each : *it) {
    if (!each.is_string()) return false;
    commands.push_back(each.get<std::string>());
    if (commands.back().size() > binding_text_bytes_max || !is_printable(commands.back())) {
      return false;
    }
  }
  return true;
}

std::string missing_flags(const Binding& archive, const Binding& here) {
  std::vector<std::string> missing;
  std::ranges::set_difference(archive.cpu_flags, here.cpu_flags, std::back_inserter(missing));
  return fmt::format("{}", fmt::join(missing, " "));
}

}  // namespace

bool is_family(std::string_view name) {
  constexpr std::size_t bytes_max = 100;
  return !name.empty() && name.size() <= bytes_max && name.front() != '.' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

std::string to_text(const Binding& binding) {
  Json json;
  for (const Field& field : kFields) json[field.name] = binding.*field.text;
  json["cpu_flags"] = binding.cpu_flags;
  json["created_ns"] = binding.created_ns;
  if (!binding.commands.empty()) json["commands"] = binding.commands;
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Result<Binding> parse_binding(std::string_view text, const std::string& path) {
  const auto bad = [&](std::string_view what) {
    return Status::corrupt(fmt::format("{}: not a good binding: {}", path, what));
  };
  if (text.size() > binding_bytes_max) return bad("it is too long");
  // Everything that is known lies one or two deep; what nests deeper is refused before it is built.
  int depth = 0;
  const Json json = Json::parse(
      text,
      [&depth](int level, Json::parse_event_t, Json&) {
        depth = std::max(depth, level);
        return level <= 4;
      },
      false);
  if (json.is_discarded() || !json.is_object() || depth > 4) return bad("it is no JSON object");
  Binding binding;
  for (const Field& field : kFields) {
    const auto it = json.find(field.name);
    if (it == json.end() || !it->is_string()) return bad(fmt::format("no \"{}\"", field.name));
    binding.*field.text = it->get<std::string>();
    const std::string& value = binding.*field.text;
    if (value.size() > binding_text_bytes_max || !is_printable(value)) return bad(field.name);
  }
  if (!is_family(binding.family)) return bad("family");
  if (!take_flags(json, binding.cpu_flags)) return bad("cpu_flags");
  if (!take_commands(json, binding.commands)) return bad("commands");
  const auto created = json.find("created_ns");
  if (created == json.end() || !created->is_number_integer()) return bad("created_ns");
  binding.created_ns = created->get<std::int64_t>();
  return binding;
}

base::Sha256 identity_of(const Binding& binding) {
  std::string text = "headway cache binding 1\n";
  for (const Field& field : std::span(kFields).first(kIdentityFields)) {
    text += fmt::format("{} {}\n", field.name, binding.*field.text);
  }
  text += fmt::format("cpu_flags {}\n", fmt::join(binding.cpu_flags, " "));
  return base::sha256(base::bytes_of(text));
}

std::string difference(const Binding& a, const Binding& b) {
  for (const Field& field : std::span(kFields).first(kIdentityFields)) {
    if (a.*field.text == b.*field.text) continue;
    return fmt::format("{}: '{}' and '{}'", field.name, a.*field.text, b.*field.text);
  }
  if (a.cpu_flags == b.cpu_flags) return "";
  const std::string here = missing_flags(a, b), there = missing_flags(b, a);
  return fmt::format("machine: '{}' and '{}'", here, there);
}

std::string misfit(const Binding& archive, const Binding& here, bool elsewhere) {
  for (const Field& field : std::span(kFields).first(kIdentityFields)) {
    if (archive.*field.text == here.*field.text) continue;
    if (elsewhere && field.text == &Binding::environment) continue;
    return fmt::format("{} is '{}' there and '{}' here", field.name, archive.*field.text,
                       here.*field.text);
  }
  const std::string missing = missing_flags(archive, here);
  return missing.empty() ? "" : "this machine lacks " + missing;
}

Status check_fits(const Binding& archive, const Binding& here, const std::string& path) {
  for (const Field& field : std::span(kFields).first(kIdentityFields)) {
    const std::string& theirs = archive.*field.text;
    const std::string& ours = here.*field.text;
    if (ours.empty() || ours == theirs || field.text == &Binding::environment) continue;
    return Status::invalid(
        fmt::format("{}: packed for another machine or environment ({} is '{}' there and '{}' "
                    "here); pack one here",
                    path, field.name, theirs, ours));
  }
  const std::string missing = missing_flags(archive, here);
  if (missing.empty()) return {};
  return Status::invalid(fmt::format(
      "{}: its code may use what this machine lacks ({}); pack one here", path, missing));
}

}  // namespace headway::cache
