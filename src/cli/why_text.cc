#include "cli/why_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

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
    return "perhaps; nothing says for sure that it would be in vain";
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
  if (!v.next.empty() || v.category != "unknown") return v.next;
  if (has_tail) return "Read the last lines. A rule of your own (--rules) can name it next time.";
  if (!file_of(question, v).empty()) return "It wrote nothing. Look for what ends the script so.";
  return question.folder.empty() ? "" : "Its output was not kept: look where it was printed.";
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
  page.add(Line().add(clean(question.about, style)).add(": ").add(v.category, Ink::strong));
  if (!question.not_failed.empty()) {
    page.add("  " + question.not_failed);
    return page.text();
  }
  const auto row = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) page.add_broken(Line().add("  ").add(label).to(kColumn).add(text), kColumn);
  };
  if (v.category == "unknown") {
    row("what", "Nothing that a rule knows was said.");
  } else {
    row("what", fmt::format("{}, origin {}; {:.0f}% sure", failure::role_name(v.role), v.origin,
                            100 * v.confidence));
  }
  if (v.rank != failure::kNoRank) row("rank", fmt::format("{}", v.rank));
  row("retry", retry_of(v));
  row("then", clean(question.decision, style));
  row("proof", clean(v.proof, style));
  row("next", clean(next_of(question, v, !tail.lines.empty()), style));
  row("since", question.also);
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
