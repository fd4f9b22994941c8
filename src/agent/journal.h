// The launcher's own journal of one attempt: agent-<node>.hwj in the attempt's folder. One at a
// time in a process (it is the process's recorder). Main thread only. Everything does nothing when
// the journal could not be opened: the job runs all the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/policy.h"
#include "base/status.h"

namespace headway::agent {

class AgentJournal {
 public:
  static constexpr std::uint64_t bytes_max = 64ull << 20;

  AgentJournal() = default;
  AgentJournal(const AgentJournal&) = delete;
  AgentJournal& operator=(const AgentJournal&) = delete;
  ~AgentJournal() { close(); }

  // `node`: names the file; empty: the machine's name does.
  base::Status open(const std::string& attempt_dir, const std::string& job, std::uint64_t attempt,
                    int world_size, const std::string& node);
  void close();

  void attr(std::string_view key, std::string_view value);
  void mark(std::uint16_t mark);
  void mark_at_monotonic(std::uint16_t mark, std::int64_t monotonic_ns);
  void failure(std::uint32_t rank, const RankEnd& end, int origin);
  // Why: what the agent has found out since. Overrides what the marks of the moment say.
  void verdict(std::uint32_t rank, const RankEnd& end, int origin, const std::string& cause);
  void hang(std::uint32_t rank, std::int64_t since_monotonic_ns);
  void exit(std::uint32_t rank, const RankEnd& end, int origin);

 private:
  bool open_ = false;
};

}  // namespace headway::agent
