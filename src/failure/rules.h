// What is known of failures, as data: patterns and what they mean. The built-in ones are
// src/failure/rules.toml; tests/failure/README.md says what each table is for. Immutable once
// parsed; any thread.
#pragma once

#include <re2/re2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headway::failure {

inline constexpr std::size_t rules_max = 4096;
inline constexpr std::size_t pattern_bytes_max = 4096;

enum class Role : std::uint8_t { none, cause, symptom, outcome };
[[nodiscard]] std::string_view role_name(Role role);

// Which inputs a rule looks at.
enum Where : std::uint8_t {
  where_log = 1,
  where_kernel = 2,
  where_scheduler = 4,
  where_error_file = 8,
};

// What a match says of the failure.
struct Meaning {
  std::string id;
  std::string category;
  Role role = Role::none;
  std::string origin;  // infra, user, preemption, unknown
  bool retryable = false;
  bool elsewhere = false;  // but not on this node
  double confidence = 0;
  std::string next;  // what a person should do
};

struct Rule : Meaning {
  int priority = 0;
  std::uint8_t where = 0;
  std::string pattern;
};

// For a rank whose output says nothing.
struct ExitRule : Meaning {
  std::optional<int> code;
  std::optional<int> signal;
};

struct Noise {
  std::unique_ptr<re2::RE2> pattern;
  bool block = false;  // the traceback behind it is noise too
};

struct Progress {
  std::string id;
  std::unique_ptr<re2::RE2> pattern;  // its first group is a counter
  int changes = 1;                    // so many new values disprove what was said before
};

struct Rules {
  std::vector<Rule> rules;
  std::vector<ExitRule> exits;
  std::vector<std::unique_ptr<re2::RE2>> prefixes;
  std::vector<Noise> noise;
  std::vector<Progress> progress;
};

// `origin` names the text in messages: "rules.toml:12: …".
base::Result<Rules> parse_rules(std::string_view text, const std::string& origin);
[[nodiscard]] std::string_view builtin_rules_text();

// As rules are compiled: bytes, not UTF-8, because logs hold anything.
[[nodiscard]] re2::RE2::Options pattern_options();

}  // namespace headway::failure
