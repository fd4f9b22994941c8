#include "failure/evidence.h"

#include <algorithm>
#include <set>

namespace headway::failure {
namespace {

bool is_indented(std::string_view text) {
  return text.starts_with(' ') || text.starts_with('\t');
}

std::string without_prefixes(const std::string& line, const Rules& rules) {
  std::string text = line;
  for (const auto& prefix : rules.prefixes) re2::RE2::Replace(&text, *prefix, "");
  return text;
}

const Noise* noise_in(const std::string& text, const Rules& rules) {
  for (const Noise& noise : rules.noise) {
    if (re2::RE2::PartialMatch(text, *noise.pattern)) return &noise;
  }
  return nullptr;
}

// One rank's way through its output.
struct RankScan {
  std::vector<Hit> alive;
  std::map<std::string, std::string> counters;  // newest value by kind of progress
  int moved = 0;
  bool in_noise = false;

  // True while the traceback behind a line of noise goes on, its last line included.
  bool still_noise(const std::string& text) {
    if (!in_noise) return false;
    if (!text.empty() && !is_indented(text) && !text.starts_with("Traceback (most recent")) {
      in_noise = false;
    }
    return true;
  }

  void look_for_progress(const std::string& text, const Rules& rules) {
    for (const Progress& progress : rules.progress) {
      std::string value;
      if (!re2::RE2::PartialMatch(text, *progress.pattern, &value)) continue;
      const auto known = counters.find(progress.id);
      const bool first = counters.empty();
      const bool changed = known == counters.end() ? first : known->second != value;
      if (changed) {
        ++moved;
        std::erase_if(alive, [&](const Hit& h) { return moved - h.moved >= progress.changes; });
      }
      counters[progress.id] = value;
      return;
    }
  }
};

}  // namespace

std::vector<OutputLine> lines_in_order(const Evidence& evidence) {
  std::vector<OutputLine> lines = evidence.lines;
  std::vector<const ErrorFile*> files;
  for (const ErrorFile& file : evidence.error_files) files.push_back(&file);
  std::stable_sort(files.begin(), files.end(), [](const ErrorFile* a, const ErrorFile* b) {
    return std::pair(a->time_s, a->rank) < std::pair(b->time_s, b->rank);
  });
  for (const ErrorFile* file : files) {
    std::string_view rest = file->message;
    for (bool more = true; more;) {
      const std::size_t end = rest.find('\n');
      more = end != std::string_view::npos;
      lines.push_back({file->rank, std::string(rest.substr(0, end))});
      if (more) rest.remove_prefix(end + 1);
    }
  }
  return lines;
}

std::map<int, std::vector<Hit>> gather_hits(const std::vector<OutputLine>& lines,
                                            const Rules& rules, const Scanner& scanner) {
  std::map<int, RankScan> scans;
  for (std::size_t position = 0; position < lines.size(); ++position) {
    RankScan& scan = scans[lines[position].rank];
    const std::string text = without_prefixes(lines[position].text, rules);
    if (scan.still_noise(text)) continue;
    const Noise* noise = noise_in(text, rules);
    if (noise != nullptr && noise->block) {
      scan.in_noise = true;
      continue;
    }
    const Rule* rule = noise != nullptr ? nullptr : scanner.best(text, where_log);
    if (rule != nullptr) {
      scan.alive.push_back({rule, position, lines[position].text, scan.moved});
    } else if (!is_indented(text)) {
      scan.look_for_progress(text, rules);
    }
  }
  std::map<int, std::vector<Hit>> hits;
  for (auto& [rank, scan] : scans) hits[rank] = std::move(scan.alive);
  return hits;
}

}  // namespace headway::failure
