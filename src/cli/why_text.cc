#include "cli/why_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "agent/policy.h"
#include "agent/restart_policy.h"
#include "agent/stacks.h"
#include "base/job_path.h"
#include "cli/page.h"
#include "failure/verdict_json.h"

namespace headway::cli {
namespace {

using failure::Verdict;

constexpr int kColumn = 12;

// As the agent decides: what is not sure is tried again.
std::string retry_of(const Verdict& v) {
  if (v.category == "unknown" || (!v.retryable && v.confidence < agent::RestartPolicy::sure)) {
    return "perhaps: nothing says that it would fail again";
  }
  if (!v.retryable) return "no";
  return v.elsewhere ? "yes, on another node" : "yes";
}

// The file to open next, if it is there.
std::string file_of(const Question& question, const Verdict& v) {
  if (question.folder.empty() || v.rank == failure::kNoRank) return {};
  const std::string log = base::rank_log_path(question.folder, static_cast<std::uint32_t>(v.rank));
  const std::string path = v.category == "hang" ? agent::stacks_path(question.folder, v.rank) : log;
  return ::access(path.c_str(), R_OK) == 0 ? path : std::string();
}

std::string next_of(const Question& question, const Verdict& v, bool has_tail) {
  // What the proof ends with need not be said twice.
  if (!v.next.empty() && v.proof.find(v.next) != std::string::npos) return {};
  if (!v.next.empty() || v.category != "unknown") return v.next;
  if (has_tail) return "Read the last lines. A rule of your own (--rules) can name it next time.";
  if (!file_of(question, v).empty()) return "It wrote nothing. Look for what ends the script so.";
  return question.folder.empty() ? "" : "Its output was not kept: look where it was printed.";
}

// What happened, for somebody who reads no further. Where a rule knows it that is its name.
std::string headline_of(const Question& question, const Verdict& v) {
  if (v.category == "unended") return "its agent or its machine was killed, and the ranks with it";
  if (v.category != "unknown") return v.category;
  for (const failure::RankExit& exit : question.evidence.exits) {
    if (exit.rank != v.rank || exit.clean()) continue;
    const std::string who = v.rank == failure::kNoRank ? "it" : fmt::format("rank {}", v.rank);
    return fmt::format("{} {}, and nothing says why", who,
                       agent::describe_end({exit.code, exit.signal}));
  }
  return "unknown";
}

// What is known of a failure that no rule has a name for.
std::string known_of(const Question& question, const Verdict& v) {
  std::string out;
  if (v.category == "unended") {
    out = "Nobody was left to record an end.";
  } else if (v.category == "unknown" && question.decision.empty()) {
    out = "Nothing that a rule knows was said.";
  } else if (v.category == "unknown") {
    out = "No rank, no line of the kernel's log and no memory limit (cgroup) said a word of it.";
  }
  if (!question.reached.empty()) out += (out.empty() ? "" : " ") + question.reached;
  return out;
}

std::string sureness_of(const Verdict& v) {
  if (v.category == "unknown" || v.category == "unended") return {};
  return fmt::format("{}, origin {}; {:.0f}% sure", failure::role_name(v.role), v.origin,
                     100 * v.confidence);
}

}  // namespace

std::string why_json(const Question& question, const Verdict& v, const failure::TailLines& tail) {
  nlohmann::ordered_json out = {{"about", question.about}};
  out.update(failure::verdict_json(v));
  out["decision"] = question.decision;
  out["file"] = file_of(question, v);
  out["tail"] = {
      {"lines", tail.lines}, {"cut_lines", tail.cut_lines}, {"cut_bytes", tail.cut_bytes}};
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string why_text(const Question& question, const Verdict& v, const failure::TailLines& tail,
                     const Style& style) {
  Page page(style);
  const bool failed = question.not_failed.empty();
  page.add_broken(Line()
                      .add(clean(question.about, style))
                      .add(": ")
                      .add(failed ? headline_of(question, v) : v.category, Ink::strong),
                  2);
  if (!question.not_failed.empty()) {
    page.add("  " + question.not_failed);
    return page.text();
  }
  const auto row = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) page.add_broken(Line().add("  ").add(label).to(kColumn).add(text), kColumn);
  };
  const bool named = v.category != "unknown" && v.category != "unended";
  if (named) row("proof", clean(v.proof, style));
  row("known", known_of(question, v));
  row("next", clean(next_of(question, v, !tail.lines.empty()), style));
  row("then", clean(question.decision, style));
  row("since", question.also);
  if (named && v.rank != failure::kNoRank) row("rank", fmt::format("{}", v.rank));
  row("what", sureness_of(v));
  row("retry", retry_of(v));
  if (const std::string file = file_of(question, v); !file.empty()) {
    page.add_whole(Line().add("  file").to(kColumn).add(clean(file, style)));
  }
  if (tail.lines.empty()) return page.text();
  page.blank();
  page.add("  the last it wrote" + (tail.note().empty() ? "" : "; " + tail.note()), Ink::dim);
  for (const std::string& line : tail.lines) {
    page.add_whole(Line().add("    ").add(clean(line, style)));
  }
  return page.text();
}

}  // namespace headway::cli
