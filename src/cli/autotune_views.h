// What `headway autotune` shows: a page for a person, JSON for a program. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "autotune/collect.h"
#include "autotune/pins.h"
#include "cli/output.h"

namespace headway::cli {

struct AutotuneView {
  const autotune::Collected* collected = nullptr;
  std::vector<autotune::KernelVerdict> kernels;
  autotune::PinsCount pins;
  double epsilon = 0;
  std::string title;
  std::string pins_file;  // that was written; empty: none
  bool all = false;       // every row, and every class
};

[[nodiscard]] std::string autotune_text(const AutotuneView& view, const Style& style);
[[nodiscard]] Json autotune_json(const AutotuneView& view);

}  // namespace headway::cli
