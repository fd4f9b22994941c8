// The words of the timeline: what a span, a mark or a bucket is called, everywhere. Names in JSON,
// reports and journals come from here and nowhere else. Pure data; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headway/headway.h"

namespace headway::event {

enum class EventType : std::uint8_t {
  none = 0,
  mark = 1,         // name: hw_mark
  begin = 2,        // name: phase
  end = 3,          // name: phase; compile: a = 1 when warm
  step = 4,         // a: step, b: data (HW_NO_DATA: unknown)
  step_end = 5,     // a: step, b: data
  checkpoint = 6,   // name: hw_checkpoint_state, a: step, b: data
  restore = 7,      // name: tier's name id (0: not stated), a: step, b: data
  hang = 8,         // a: time of last progress, b: rank
  attr = 9,         // name: key's name id, a: value's name id
  name = 10,        // journal only: 24 bytes of a name's text
  anchor = 11,      // journal only: a: monotonic ns, b: real-time ns
  device_done = 12  // a: step; t is when the device finished it
};

using PhaseId = std::uint16_t;
using NameId = std::uint16_t;
inline constexpr PhaseId kUserFirst = HW_PHASE_USER_FIRST;
inline constexpr int kBuiltinPhases = HW_PHASE_JOIN + 1;
inline constexpr std::uint32_t kAgentRank = HW_RANK_AGENT;

// The name of a built-in phase, mark, origin or checkpoint state; empty when there is none.
std::string_view phase_name(PhaseId phase);
std::string_view mark_name(std::uint16_t mark);
std::string_view origin_name(int origin);
std::string_view checkpoint_state_name(std::uint16_t state);

// The reverse; nullopt when the word is not ours (a phase then is the user's own).
std::optional<PhaseId> phase_from_name(std::string_view name);
std::optional<std::uint16_t> mark_from_name(std::string_view name);
std::optional<int> origin_from_name(std::string_view name);
std::optional<std::uint16_t> checkpoint_state_from_name(std::string_view name);

// The L3 stages of trainer start-up, in the order in which they are declared.
inline constexpr std::array<PhaseId, 9> kInitStages = {
    HW_PHASE_IMPORTS,          HW_PHASE_DEVICE_INIT,           HW_PHASE_PROCESS_GROUP_INIT,
    HW_PHASE_PREPROC_CREATION, HW_PHASE_TRAIN_MODULE_CREATION, HW_PHASE_INIT_PLUGINS,
    HW_PHASE_PRE_TRAIN,        HW_PHASE_GET_FIRST_BATCH_DATA,  HW_PHASE_RESTORE};

}  // namespace headway::event
