// The keys of an event line and how a key is found: a perfect-enough hash over a closed vocabulary,
// since every line looks up about eight. Pure data; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headway::interchange {

enum Field : std::uint8_t {
  f_t,
  f_t_ns,
  f_job,
  f_attempt,
  f_rank,
  f_lane,
  f_type,
  f_phase,
  f_name,
  f_step,
  f_data,
  f_state,
  f_key,
  f_value,
  f_tier,
  f_origin,
  f_reason,
  f_exit_code,
  f_signal,
  f_warm,
  f_since,
  f_since_ns,
  f_of_rank,
  f_host,
  f_world_size,
  f_count
};
inline constexpr std::array<std::string_view, f_count> kFieldNames = {
    "t",      "t_ns", "job",   "attempt",  "rank",    "lane", "type",      "phase",  "name",
    "step",   "data", "state", "key",      "value",   "tier", "origin",    "reason", "exit_code",
    "signal", "warm", "since", "since_ns", "of_rank", "host", "world_size"};

inline constexpr std::uint8_t kNoField = 255;

// The field of this name, or kNoField.
std::uint8_t field_of(std::string_view key);

}  // namespace headway::interchange
