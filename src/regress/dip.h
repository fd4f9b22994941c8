// Why ETT% is lower (or higher) than it was: the difference between two sets of attempts, put down
// to a shift of the mix, to preemptions, to failures by category and to single stages. The terms
// sum to the difference, whatever the input. Pure; any thread.
//
// With w a segment's share of device time and r its ETT%, Δ = Σ w̄·Δr + Σ (r̄ - R)·Δw, bars being the
// means of before and after and R any constant (the fleet's mean), since Σ Δw = 0. A segment that
// appears or vanishes has no Δr; it stands in a term of its own. Δr is what the shares of all
// other buckets changed by; what of them Failure% holds is put down to the failures that it is lost
// to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fleet/fact.h"

namespace headway::regress {

enum class TermKind : std::uint8_t { mix, preemption, failure, stage };
[[nodiscard]] std::string_view term_kind_name(TermKind kind);

struct DipTerm {
  std::string name;  // "mix", "appeared", "vanished", "preemption", "gpu_oom", "compile_cold"
  std::string label;
  TermKind kind = TermKind::stage;
  double delta_pct = 0;  // points of ETT%
};

struct Dip {
  double before_pct = 0, after_pct = 0;  // ETT%, by device time
  double delta_pct = 0;                  // after - before: below zero is a dip
  std::vector<DipTerm> terms;            // largest first, by size; sum to delta_pct
};

// Slices of these attempts on these days, both ends included.
struct Side {
  std::span<const std::size_t> attempts;
  std::int32_t first_day = 0, last_day = 0;
};

struct DipOptions {
  std::vector<fleet::Dimension> segments = {fleet::Dimension::family, fleet::Dimension::cluster,
                                            fleet::Dimension::hardware, fleet::Dimension::size};
  static constexpr std::size_t segments_max = 10'000;  // further ones are one, together
};

// None where a side has no time.
[[nodiscard]] std::optional<Dip> decompose_dip(std::span<const fleet::AttemptFacts> facts,
                                               const Side& before, const Side& after,
                                               const DipOptions& options = {});

}  // namespace headway::regress
