#include "agent/rank_progress.h"

#include <unistd.h>

#include <algorithm>

#include "base/job_path.h"
#include "headway/headway.h"

namespace headway::agent {

using event::EventType;

void RankProgress::open(const std::string& attempt_dir, int count, int first) {
  followed_.clear();
  states_.clear();
  if (attempt_dir.empty()) return;
  for (int rank = first; rank < first + count; ++rank) {
    Followed followed;
    followed.path =
        attempt_dir + '/' + base::rank_journal_stem(static_cast<std::uint32_t>(rank)) + ".hwj";
    followed_.push_back(std::move(followed));
    states_.emplace_back();
  }
}

void RankProgress::look() {
  for (std::size_t i = 0; i < followed_.size(); ++i) {
    Followed& rank = followed_[i];
    if (!rank.reader) {
      if (::access(rank.path.c_str(), R_OK) != 0) continue;
      auto reader = record::JournalReader::open(rank.path, names_);
      if (!reader.ok()) continue;  // being made; or not ours to judge
      rank.reader = std::move(*reader);
      states_[i].reports = true;
    }
    for (auto events = rank.reader->next(); !events.empty(); events = rank.reader->next()) {
      for (const event::Event& event : events) take(event, rank, states_[i]);
    }
  }
}

void RankProgress::take(const event::Event& event, Followed& rank, RankState& state) {
  if (event.lane != 0) return;  // helpers may be busy for ever beside a hung training thread
  ++state.events;
  state.last_ns = std::max(state.last_ns, event.t_ns);
  if (state.steps > 0 && event.type != EventType::step_end) rank.opens_steps = true;
  state.between = event.type == EventType::step_end && rank.opens_steps;
  switch (event.type) {
    case EventType::begin:
      rank.open_phases.push_back(event.name);
      break;
    case EventType::end:
      while (!rank.open_phases.empty()) {
        const std::uint16_t phase = rank.open_phases.back();
        rank.open_phases.pop_back();
        if (phase == event.name) break;
      }
      break;
    case EventType::step_end:
      if (rank.last_step_ns > 0 && state.step && *state.step != event.a) {
        state.step_gap_max_ns = std::max(state.step_gap_max_ns, event.t_ns - rank.last_step_ns);
      }
      rank.last_step_ns = event.t_ns;
      if (!state.step || *state.step != event.a) ++state.steps;
      state.step = event.a;
      state.data = event.b == HW_NO_DATA ? event.a : event.b;
      break;
    default:
      break;
  }
  state.phase = rank.open_phases.empty() ? 0 : rank.open_phases.back();
}

bool RankProgress::all_stepped(std::int64_t steps) const {
  return !states_.empty() &&
         std::all_of(states_.begin(), states_.end(),
                     [=](const RankState& rank) { return rank.steps >= steps; });
}

std::optional<std::int64_t> RankProgress::trained() const {
  std::optional<std::int64_t> least;
  for (const RankState& state : states_) {
    if (!state.reports) continue;
    if (!state.data) return std::nullopt;
    least = std::min(least.value_or(*state.data), *state.data);
  }
  return least;
}

}  // namespace headway::agent
