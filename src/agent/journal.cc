#include "agent/journal.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "headway/headway.h"

namespace headway::agent {

base::Status AgentJournal::open(const std::string& attempt_dir, const std::string& job,
                                std::uint64_t attempt, int world_size, const std::string& node) {
  HW_CHECK(!open_);
  hw_options options{};
  options.struct_size = sizeof(options);
  options.rank = HW_RANK_AGENT;
  options.local_rank = HW_RANK_AGENT;
  options.world_size = static_cast<std::uint32_t>(world_size);
  options.attempt = attempt;
  options.max_bytes = bytes_max;
  options.dir = attempt_dir.c_str();
  options.job = job.c_str();
  options.host = node.empty() ? nullptr : node.c_str();
  const int error = hw_init(&options);
  if (error != 0) {
    return base::Status::io(
        fmt::format("{}: cannot open the agent's journal: {}", attempt_dir, std::strerror(error)));
  }
  open_ = true;
  return {};
}

void AgentJournal::close() {
  if (open_) hw_shutdown();
  open_ = false;
}

void AgentJournal::attr(std::string_view key, std::string_view value) {
  if (open_) hw_attr(std::string(key).c_str(), std::string(value).c_str());
}

void AgentJournal::mark(std::uint16_t mark) {
  if (open_) hw_mark(mark);
}

void AgentJournal::mark_at_monotonic(std::uint16_t mark, std::int64_t monotonic_ns) {
  if (open_) hw_mark_at(mark, hw_ticks_from_monotonic_ns(monotonic_ns));
}

// Without a reason: code and signal say what we saw, and why is for the rank's own journal to tell.
void AgentJournal::failure(std::uint32_t rank, const RankEnd& end, int origin) {
  if (!open_) return;
  hw_mark_end(HW_MARK_FAILURE, end.exit_code, end.signal, origin, rank, 0);
}

void AgentJournal::verdict(std::uint32_t rank, const RankEnd& end, int origin,
                           const std::string& cause) {
  if (!open_) return;
  hw_mark_end(HW_MARK_FAILURE, end.exit_code, end.signal, origin, rank, hw_name_id(cause.c_str()));
}

void AgentJournal::hang(std::uint32_t rank, std::int64_t since_monotonic_ns) {
  if (open_) hw_hang(hw_ticks_from_monotonic_ns(since_monotonic_ns), rank);
}

void AgentJournal::exit(std::uint32_t rank, const RankEnd& end, int origin) {
  if (!open_) return;
  hw_mark_end(HW_MARK_EXIT, end.exit_code, end.signal, origin, rank, 0);
}

}  // namespace headway::agent
