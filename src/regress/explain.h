// What can be said of a change beside its size: since when exactly, which attempts it cost most,
// what came with it. Looks at single attempts of the stratum, so it is only done for what is told.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "regress/change.h"
#include "regress/first_bad.h"
#include "regress/observe.h"
#include "regress/separator.h"

namespace headway::regress {

// The samples of a component that are compared: of up to `days` days before a change could have
// begun and since it surely has.
struct Compared {
  std::vector<Sample> before, after, between;  // between: in doubt
  std::int32_t before_first_day = 0, before_last_day = 0;
  std::int32_t after_first_day = 0, after_last_day = 0;
};
[[nodiscard]] Compared compare(std::span<const fleet::AttemptFacts> facts,
                               std::span<const std::uint32_t> attempts, const Component& component,
                               const Change& change, std::int32_t last_day, std::int32_t days);

// Indices of attempts, each once, those first that lost most device time by the change.
[[nodiscard]] std::vector<std::size_t> worst_attempts(const Compared& compared, Law law,
                                                      double before, std::size_t attempts_max);

[[nodiscard]] FirstBad began(const Compared& compared, const Component& component,
                             const Change& change, double spread);

// Of the attempts in `compared`, at most `compared_max` on each side, evenly chosen.
[[nodiscard]] std::vector<Separator> separators_of(std::span<const fleet::AttemptFacts> facts,
                                                   const Compared& compared,
                                                   const SeparatorOptions& options);
inline constexpr std::size_t compared_max = 2000;

// The best separator as a cause that findings can share: "torch=2.9", or "".
[[nodiscard]] std::string cause_of(std::span<const Separator> separators);

}  // namespace headway::regress
