#include "failure/rank_scan.h"

#include <algorithm>
#include <utility>

#include "failure/line_rules.h"

namespace headway::failure {

bool RankScan::still_noise(std::string_view text) {
  if (!in_noise) return false;
  if (!text.empty() && !is_indented(text) && !text.starts_with("Traceback (most recent")) {
    in_noise = false;
  }
  return true;
}

void RankScan::hit(Hit hit) {
  hit.moved = moved_;
  alive.push_back(std::move(hit));
}

int RankScan::progress_in(std::string_view text, std::uint64_t kinds) const {
  for (std::size_t kind = 0; kind < rules_.progress.size(); ++kind) {
    if ((kinds & LineRules::progress_bit(static_cast<int>(kind))) == 0) continue;
    if (finds(*rules_.progress[kind].pattern, text)) return static_cast<int>(kind);
  }
  return -1;
}

std::string RankScan::value_of(std::string_view text, int kind) const {
  std::string value;
  const re2::RE2& pattern = *rules_.progress[static_cast<std::size_t>(kind)].pattern;
  re2::RE2::PartialMatch(piece_of(text), pattern, &value);
  return value;
}

const RankScan::Counter& RankScan::settle(int kind) {
  Counter& counter = counters_[static_cast<std::size_t>(kind)];
  const re2::RE2& pattern = *rules_.progress[static_cast<std::size_t>(kind)].pattern;
  for (std::size_t i = remembered_.size(); i > counter.settled; --i) {
    const auto& [text, kinds] = remembered_[i - 1];
    if ((kinds & LineRules::progress_bit(kind)) == 0 || !finds(pattern, text)) continue;
    if (progress_in(text, kinds) != kind) continue;
    counter.seen = true;
    counter.value = value_of(text, kind);
    break;
  }
  counter.settled = remembered_.size();
  return counter;
}

bool RankScan::any_counter() {
  for (std::size_t kind = 0; kind < counters_.size(); ++kind) {
    if (settle(static_cast<int>(kind)).seen) return true;
  }
  return false;
}

void RankScan::look_for_progress(std::string_view text, std::uint64_t kinds, bool lasts) {
  if (alive.empty() && lasts) {
    remembered_.push_back({text, kinds});
    return;
  }
  const int kind = progress_in(text, kinds);
  if (kind < 0) return;
  std::string value = value_of(text, kind);
  const Counter& known = settle(kind);
  const bool changed = known.seen ? known.value != value : !any_counter();
  if (changed) {
    ++moved_;
    const int changes = rules_.progress[static_cast<std::size_t>(kind)].changes;
    std::erase_if(alive, [&](const Hit& h) { return moved_ - h.moved >= changes; });
  }
  counters_[static_cast<std::size_t>(kind)] = {true, std::move(value), remembered_.size()};
}

}  // namespace headway::failure
