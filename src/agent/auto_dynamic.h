// `headway run --auto-dynamic`: every attempt is traced (TORCH_TRACE), what it compiled again
// because of a size or number is learnt, and the next attempt or run of the job's family begins
// with it dynamic (TORCH_COMPILE_DYNAMIC_SOURCES); taken back if its steps are slower for it than
// it saves. What is learnt is kept in <jobs root>/.dynamic (docs/formats/dynamic.md). Nothing here
// can fail a job: whatever goes wrong is a note. Main thread only.
//
// Of several machines one leads, that of the coordinator: it learns, and what it proposes for a
// round is agreed on by all, so that all ranks compile alike. It learns from the logs that it can
// see: those of all ranks where the machines share the jobs root, else those of its own.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "agent/console.h"
#include "agent/environment.h"
#include "agent/group_place.h"
#include "agent/journal.h"
#include "agent/options.h"
#include "compile/dynamic_memory.h"

namespace headway::agent {

// The names of the variables that were set here, for the hook: a rank that is forked from a Python
// which has torch in it must be told, or torch would not look again.
inline constexpr std::string_view kAutoDynamicVariable = "HEADWAY_AUTO_DYNAMIC";

enum class DynamicRole : std::uint8_t { alone, leads, follows };

class AutoDynamic {
 public:
  // Logs of one attempt that are read: what is more is left, so that a restart does not wait.
  static constexpr std::uint64_t learn_bytes_max = 256ull << 20;

  AutoDynamic(const RunOptions& options, const Environment& environment, Console& console)
      : options_(options), environment_(environment), console_(console) {}

  // The job's folder is open below `root`.
  void open(const std::string& root, DynamicRole role);
  // On the machine that leads: for the next round of all. "": nothing, not even a trace.
  [[nodiscard]] std::string propose(std::size_t bytes_max);
  // Before the ranks of an attempt are planned. `agreed`: of several machines, what was proposed.
  void begin(const std::string& attempt_dir, const GroupPlace& place, const std::string* agreed,
             AgentJournal& journal);
  // Into the environment of a rank of it.
  void set(Environment& environment) const;
  // Its ranks have ended, in whatever way. After this, blame().
  void finish(const std::string& job, std::uint64_t attempt, AgentJournal& journal);
  // The attempt has failed by an error of its program. True: it had what was learnt and no step
  // came of it, so the next one goes without, and is owed to the job.
  [[nodiscard]] bool blame(AgentJournal& journal);

 private:
  [[nodiscard]] std::string path() const { return folder_ + '/' + name_; }
  void load();
  void save();
  void learn(const std::string& job, std::uint64_t attempt, AgentJournal& journal);
  void judge(const std::string& setup, AgentJournal& journal);
  void tell(AgentJournal& journal, const std::string& text);

  const RunOptions& options_;
  const Environment& environment_;
  Console& console_;
  bool on_ = false;
  DynamicRole role_ = DynamicRole::alone;
  std::set<compile::SourceDim> proposed_;
  std::string folder_, name_;  // of what is kept
  compile::DynamicMemory memory_;
  std::string attempt_dir_, trace_dir_;
  GroupPlace place_;
  bool traces_ = false;                   // TORCH_TRACE is ours
  std::string setting_;                   // of the attempt; "": none
  std::set<compile::SourceDim> applied_;  // likewise
  std::int64_t began_real_s_ = 0;
  bool told_ = false;
};

// What a job's family is called: --attr family=NAME, else its script.
[[nodiscard]] std::string family_file(const RunOptions& options);

}  // namespace headway::agent
