// `headway doctor`: what on this machine limits Headway, and what to do about it.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/job_path.h"
#include "cli/doctor_checks.h"
#include "cli/doctor_probe.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

void print_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json out;
  out["ok"] = !has_problem(findings);
  out["checks"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json row;
    row["check"] = finding.check;
    row["level"] = level_name(finding.level);
    row["found"] = finding.found;
    row["next"] = finding.next;
    out["checks"].push_back(std::move(row));
  }
  // Paths and messages of the system need not be UTF-8.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  fmt::print("{}\n", out.dump(2, ' ', false, kReplace));
}

void print_table(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    fmt::print("{:<8} {:<14} {}\n", level_name(finding.level), finding.check, finding.found);
    if (!finding.next.empty()) fmt::print("{:<8} {:<14} -> {}\n", "", "", finding.next);
  }
  fmt::print("\n{}\n", has_problem(findings)
                           ? "Headway cannot do its work here until each PROBLEM is solved."
                           : "Headway can run here.");
}

}  // namespace

void add_doctor(Verb& app, int& exit_code) {
  Verb* verb = app.add_verb("doctor", "Say what on this machine limits Headway");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "Print a JSON object for programs");
  auto dir = std::make_shared<std::string>();
  add_dir_option(*verb, *dir);
  verb->footer(
      "Exits 0 when Headway can run here, 1 when a PROBLEM is in the way.\n"
      "Example:\n  headway doctor");
  verb->callback([json, dir, &exit_code] {
    const base::Result<std::string> root = base::jobs_root(*dir);
    if (!root.ok()) {
      exit_code = fail(root.status());
      return;
    }
    const std::vector<Finding> findings = diagnose(probe_machine(root.value()));
    *json ? print_json(findings) : print_table(findings);
    exit_code = has_problem(findings) ? kExitCheckFailed : kExitOk;
  });
}

}  // namespace headway::cli
