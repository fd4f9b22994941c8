// Which version, setting or place tells the attempts after a change from those before it. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "fleet/fact.h"

namespace headway::regress {

struct Separator {
  std::string field;  // a dimension's name, "lever" or "host"
  std::string value;
  double before_pct = 0, after_pct = 0;  // of attempts
  double score = 0;  // of what there is to know about before or after, the share this tells: 0 … 1
  double p = 1;      // Fisher's, times the number of values that were tried
};

struct SeparatorOptions {
  std::size_t separators_max = 10;
  double p_max = 0.01;

  static constexpr std::size_t values_max = 20'000;  // tried; further ones are not looked at
  static constexpr std::size_t hosts_max =
      64;  // of an attempt: on more, none of them tells it apart
};

// By score, the best first. Attempts by index of facts, each once.
[[nodiscard]] std::vector<Separator> separators(std::span<const fleet::AttemptFacts> facts,
                                                std::span<const std::size_t> before,
                                                std::span<const std::size_t> after,
                                                const SeparatorOptions& options = {});

}  // namespace headway::regress
