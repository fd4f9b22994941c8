// The answer to how often to save, as a person, a program or an eye reads it. Pure; any thread.
#pragma once

#include <string>

#include "cli/interval_answer.h"
#include "cli/style.h"

namespace headway::cli {

[[nodiscard]] std::string interval_text(const IntervalAnswer& answer, const Style& style);
// One JSON object, described in docs/interval.md.
[[nodiscard]] std::string interval_json(const IntervalAnswer& answer);
// The curve of waste over the interval as a picture that needs nothing else: no script, no font, no
// link. It follows the reader's light or dark theme.
[[nodiscard]] std::string interval_svg(const IntervalAnswer& answer);

// "929.5 s": seconds with the digits that say something.
[[nodiscard]] std::string plain_seconds(double seconds);
// "3.227%"
[[nodiscard]] std::string percent(double share, int decimals = 3);
// "3", "2.75", "0.083": a rate a day.
[[nodiscard]] std::string per_day(double per_s);

}  // namespace headway::cli
