#include "metrics/compile_cache.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace headway::metrics {
namespace {

constexpr std::string_view kFound = "compile_cache";
constexpr std::string_view kPulled = "compile_cache_pulled";
constexpr std::uint64_t kValueMax = 1ULL << 50;  // so that no sum of them can overflow
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kMsMax = kValueMax / kNsPerMs;

std::optional<double> share_pct(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return std::min(value, kValueMax);
}

std::int64_t ns_of_ms(std::uint64_t ms) {
  return static_cast<std::int64_t>(std::min(ms, kMsMax)) * kNsPerMs;
}

// "hits=3 misses=0 …"
CompileCache parse(std::string_view text, bool pulled) {
  CompileCache out;
  out.pulls = pulled ? 1 : 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const auto value = number(word.substr(equals + 1));
    if (!value) continue;
    const std::string_view name = word.substr(0, equals);
    if (pulled) {
      if (name == "archives") out.pulled_archives = *value;
      if (name == "files") out.pulled_files = *value;
      if (name == "bytes") out.pulled_bytes = *value;
      if (name == "ms") out.pull_ns = ns_of_ms(*value);
      continue;
    }
    if (name == "hits") out.hits = *value;
    if (name == "misses") out.misses = *value;
    if (name == "bypasses") out.bypasses = *value;
    if (name == "builds") out.builds = *value;
    if (name == "original_ms") out.original_ns = ns_of_ms(*value);
    if (name == "spent_ms") out.spent_ns = ns_of_ms(*value);
  }
  return out;
}

// What stands behind `name` in `key`: "" or ".7". None: another key.
std::optional<std::string_view> behind(std::string_view key, std::string_view name) {
  if (!key.starts_with(name)) return std::nullopt;
  key.remove_prefix(name.size());
  if (!key.empty() && key.front() != '.') return std::nullopt;
  return key;
}

void add_counts(CompileCache& sum, const CompileCache& note) {
  sum.hits += note.hits;
  sum.misses += note.misses;
  sum.bypasses += note.bypasses;
  sum.builds += note.builds;
  sum.pulls += note.pulls;
  sum.pulled_archives += note.pulled_archives;
  sum.pulled_files += note.pulled_files;
  sum.pulled_bytes += note.pulled_bytes;
}

// Ranks compile side by side, and machines unpack so: the slowest decides.
struct Slowest {
  std::int64_t original_ns = 0, spent_ns = 0, pull_ns = 0;

  void take(const CompileCache& note) {
    original_ns = std::max(original_ns, note.original_ns);
    spent_ns = std::max(spent_ns, note.spent_ns);
    pull_ns = std::max(pull_ns, note.pull_ns);
  }
};

// The newest attempts' rows come first, and stay.
void keep_missed(CompileCache& sum, const std::vector<MissedRanks>& missed) {
  for (std::size_t i = missed.size(); i-- > 0;) {
    for (MissedRow& row : missed[i].rows(static_cast<std::int64_t>(i))) {
      if (sum.missed.size() < CompileCache::missed_max) {
        sum.missed.push_back(std::move(row));
      } else {
        ++sum.missed_left_out;
      }
    }
  }
}

std::vector<CacheNote> notes_of(const timeline::AttemptResult& attempt,
                                const event::NameTable& names) {
  std::vector<CacheNote> notes;
  for (const auto& [key, value] : attempt.facts.attrs) {
    notes.emplace_back(names.text(key), names.text(value));
  }
  return notes;
}

}  // namespace

std::optional<double> CompileCache::hit_pct() const {
  return share_pct(hits, hits + misses);
}

std::optional<double> CompileCache::coverage_pct() const {
  return share_pct(hits + misses, hits + misses + bypasses);
}

std::int64_t CompileCache::saved_ns() const {
  return std::max<std::int64_t>(original_ns - spent_ns, 0);
}

std::optional<CompileCache> compile_cache_of(const std::vector<std::vector<CacheNote>>& attempts) {
  std::optional<CompileCache> sum;
  std::map<std::uint32_t, std::uint64_t> misses;  // by rank
  std::vector<MissedRanks> missed;                // by attempt
  for (const std::vector<CacheNote>& notes : attempts) {
    Slowest slowest;
    MissedRanks& missed_here = missed.emplace_back();
    for (const auto& [key, text] : notes) {
      const auto rank = behind(key, kFound);
      if (!rank && !behind(key, kPulled)) continue;
      const CompileCache note = parse(text, !rank);
      if (rank) {
        const auto index =
            static_cast<std::uint32_t>(rank->empty() ? 0 : number(rank->substr(1)).value_or(0));
        misses[index] += note.misses;
        missed_here.add(index, note.misses, note.hits);
      }
      if (!sum) sum.emplace();
      add_counts(*sum, note);
      slowest.take(note);
    }
    if (!sum) continue;
    sum->original_ns += slowest.original_ns;
    sum->spent_ns += slowest.spent_ns;
    sum->pull_ns += slowest.pull_ns;
  }
  if (!sum || misses.empty()) return sum;
  keep_missed(*sum, missed);
  sum->ranks = misses.size();
  const auto [least, most] = std::ranges::minmax_element(
      misses, {}, [](const auto& rank_misses) { return rank_misses.second; });
  if (least->second == most->second) return sum;
  sum->worst_rank = most->first;
  sum->worst_misses = most->second;
  return sum;
}

std::optional<CompileCache> compile_cache_of(const timeline::JobResult& job,
                                             const event::NameTable& names) {
  std::vector<std::vector<CacheNote>> attempts;
  for (const timeline::AttemptResult& attempt : job.attempts) {
    attempts.push_back(notes_of(attempt, names));
  }
  auto sum = compile_cache_of(attempts);
  if (!sum) return sum;
  for (MissedRow& row : sum->missed) {
    row.attempt = job.attempts[static_cast<std::size_t>(row.attempt)].id;
  }
  return sum;
}

std::optional<CompileCache> compile_cache_of(const timeline::AttemptResult& attempt,
                                             const event::NameTable& names) {
  auto sum = compile_cache_of({notes_of(attempt, names)});
  if (!sum) return sum;
  for (MissedRow& row : sum->missed) row.attempt = attempt.id;
  return sum;
}

}  // namespace headway::metrics
