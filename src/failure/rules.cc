#include "failure/rules.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <set>

namespace headway::failure {
namespace {

using base::Result;
using base::Status;

Role role_of(std::string_view name) {
  if (name == "cause") return Role::cause;
  if (name == "symptom") return Role::symptom;
  return name == "outcome" ? Role::outcome : Role::none;
}

std::uint8_t where_of(std::string_view name) {
  if (name == "log") return where_log;
  if (name == "kernel") return where_kernel;
  if (name == "scheduler") return where_scheduler;
  return name == "error_file" ? where_error_file : 0;
}

// Reads one document; the first thing that is wrong is kept with its line.
class Reader {
 public:
  explicit Reader(const std::string& origin) : origin_(origin) {}

  Status read(const toml::table& document, Rules& out) {
    each(document, "rule", [&](const toml::table& t) { out.rules.push_back(rule(t)); });
    each(document, "exit", [&](const toml::table& t) { out.exits.push_back(exit_rule(t)); });
    each(document, "prefix", [&](const toml::table& t) { out.prefixes.push_back(pattern(t)); });
    each(document, "noise", [&](const toml::table& t) {
      out.noise.push_back({pattern(t), t["block"].value_or(false)});
    });
    each(document, "progress", [&](const toml::table& t) {
      out.progress.push_back({text(t, "id"), pattern(t), t["changes"].value_or(1)});
      if (out.progress.back().pattern->NumberOfCapturingGroups() < 1) {
        complain(t, "its pattern has no group for the counter");
      }
    });
    return status_;
  }

 private:
  template <typename Take>
  void each(const toml::table& document, const char* name, Take take) {
    const toml::array* tables = document[name].as_array();
    if (tables == nullptr) return;
    for (const toml::node& node : *tables) {
      const toml::table* table = node.as_table();
      if (table == nullptr || ++count_ > rules_max) {
        complain(node, table == nullptr ? "not a table" : "too many rules");
        return;
      }
      if (!ids_.insert(text(*table, "id")).second) complain(*table, "its id is taken already");
      take(*table);
    }
  }

  void complain(const toml::node& node, const std::string& what) {
    if (!status_.ok()) return;
    const toml::table* table = node.as_table();
    const std::string id = table != nullptr ? (*table)["id"].value_or(std::string("?")) : "?";
    status_ = Status::invalid(
        fmt::format("{}:{}: rule {}: {}", origin_, node.source().begin.line, id, what));
  }

  std::string text(const toml::table& table, const char* key) {
    const auto value = table[key].value<std::string>();
    if (!value || value->empty()) complain(table, fmt::format("{} is missing", key));
    return value.value_or("");
  }

  std::unique_ptr<re2::RE2> compile(const toml::table& table, const std::string& pattern) {
    auto compiled = std::make_unique<re2::RE2>(pattern, pattern_options());
    if (!compiled->ok()) complain(table, "its pattern is no RE2: " + compiled->error());
    if (pattern.size() > pattern_bytes_max) complain(table, "its pattern is too long");
    return compiled;
  }
  std::unique_ptr<re2::RE2> pattern(const toml::table& table) {
    return compile(table, text(table, "pattern"));
  }

  void meaning(const toml::table& table, Meaning& out) {
    out.id = text(table, "id");
    out.category = text(table, "category");
    out.role = role_of(text(table, "role"));
    if (out.role == Role::none) complain(table, "role must be cause, symptom or outcome");
    out.origin = text(table, "origin");
    static const std::set<std::string> kOrigins = {"infra", "user", "preemption", "unknown"};
    if (!kOrigins.contains(out.origin)) {
      complain(table, "origin must be infra, user, preemption or unknown");
    }
    out.retryable = table["retryable"].value_or(false);
    out.elsewhere = table["elsewhere"].value_or(false);
    out.confidence = table["confidence"].value_or(0.5);
    if (!(out.confidence >= 0 && out.confidence <= 1)) {
      complain(table, "confidence must lie between 0 and 1");
    }
    out.next = table["next"].value_or(std::string());
  }

  Rule rule(const toml::table& table) {
    Rule out;
    meaning(table, out);
    out.priority = table["priority"].value_or(0);
    out.pattern = text(table, "pattern");
    compile(table, out.pattern);
    if (const toml::array* where = table["where"].as_array()) {
      for (const toml::node& place : *where) {
        const std::uint8_t bit = where_of(place.value_or(std::string_view()));
        if (bit == 0) complain(table, "where must be log, kernel, scheduler or error_file");
        out.where |= bit;
      }
    }
    if (out.where == 0) complain(table, "where is missing");
    return out;
  }

  ExitRule exit_rule(const toml::table& table) {
    ExitRule out;
    meaning(table, out);
    out.code = table["code"].value<int>();
    out.signal = table["signal"].value<int>();
    if (!out.code && !out.signal) complain(table, "neither code nor signal is given");
    return out;
  }

  const std::string& origin_;
  std::set<std::string> ids_;
  std::size_t count_ = 0;
  Status status_;
};

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::cause:
      return "cause";
    case Role::symptom:
      return "symptom";
    case Role::outcome:
      return "outcome";
    case Role::none:
      break;
  }
  return "none";
}

re2::RE2::Options pattern_options() {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  return options;
}

Result<Rules> parse_rules(std::string_view text, const std::string& origin) {
  toml::table document;
  try {
    document = toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    return Status::invalid(fmt::format("{}:{}: {}", origin, error.source().begin.line,
                                       std::string(error.description())));
  }
  Rules rules;
  if (Status status = Reader(origin).read(document, rules); !status.ok()) return status;
  return rules;
}

}  // namespace headway::failure
