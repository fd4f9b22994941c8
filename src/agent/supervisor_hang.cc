// The Supervisor's look at the ranks' progress, and what it does when there is none.
#include <fmt/format.h>

#include "agent/stacks.h"
#include "agent/supervisor.h"
#include "base/clock.h"
#include "base/file.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

constexpr std::size_t kStackBytesMax = 4 << 20;

}  // namespace

void Supervisor::watch_for_hang() {
  if (plan_.progress == nullptr || !hang_watch_.on() || policy_.tearing_down() || any_pending()) {
    return;
  }
  const std::int64_t now_ns = base::monotonic_ns();
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + hang_watch_.period_ns();
  plan_.progress->look();
  if (const auto hang = hang_watch_.look(plan_.progress->ranks(), now_ns)) end_hang(*hang);
}

// Stacks first, from everybody: afterwards nobody is left to ask.
void Supervisor::end_hang(const HangWatch::Hang& hang) {
  const std::vector<RankState>& states = plan_.progress->ranks();
  const std::int64_t since_ns = base::monotonic_ns() - hang.silent_ns;
  const double silent_s = static_cast<double>(hang.silent_ns) / 1e9;
  console_.note(fmt::format("no progress for {:.0f} s (limit {:.0f} s); taking stacks", silent_s,
                            static_cast<double>(hang.limit_ns) / 1e9));
  std::vector<StackRequest> requests;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!ranks_[i].running) continue;
    requests.push_back(
        {plan_.first_rank + static_cast<int>(i), ranks_[i].child.pid, states[i].reports});
  }
  const SpawnPlan process = plan_.process(0);
  take_stacks(requests, plan_.dir, process.argv.front(), process.environment,
              [this] { serve_companion(); });
  std::vector<std::vector<Frame>> stacks(ranks_.size());
  for (const StackRequest& request : requests) {
    const auto text = base::read_file(stacks_path(plan_.dir, request.rank), kStackBytesMax);
    if (text.ok())
      stacks[static_cast<std::size_t>(request.rank - plan_.first_rank)] = main_thread(text.value());
  }
  const std::size_t laggard = find_laggard(states, stacks);
  if (!ranks_[laggard].running || policy_.tearing_down()) return;
  const int who = plan_.first_rank + static_cast<int>(laggard);
  const std::string place = place_of(stacks[laggard]);
  const std::string step =
      states[laggard].step ? fmt::format("after step {}", *states[laggard].step) : "before a step";
  hang_ = Remains::Hang{who, fmt::format("no progress for {:.0f} s, rank {} stands {}{}", silent_s,
                                         who, step, place.empty() ? "" : " in " + place)};
  const std::int64_t now_ns = base::monotonic_ns();
  plan_.before_mark();
  journal_.hang(static_cast<std::uint32_t>(who), since_ns);
  failure_recorded_ = true;
  journal_.failure(static_cast<std::uint32_t>(who), RankEnd{kExitHang, 0}, HW_ORIGIN_UNKNOWN);
  if (plan_.companion != nullptr) {
    plan_.companion->on_rank_failed(static_cast<int>(laggard), RankEnd{kExitHang, 0});
  }
  send_to_live(policy_.on_hang(static_cast<int>(laggard), now_ns));
}

}  // namespace headway::agent
