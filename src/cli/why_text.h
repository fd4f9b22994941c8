// The answer of `headway why`, for a person and for a program. Looks for the files that it names.
#pragma once

#include <string>

#include "cli/style.h"
#include "cli/why_question.h"
#include "failure/classify.h"
#include "failure/tail.h"

namespace headway::cli {

[[nodiscard]] std::string why_json(const Question& question, const failure::Verdict& verdict,
                                   const failure::TailLines& tail);
[[nodiscard]] std::string why_text(const Question& question, const failure::Verdict& verdict,
                                   const failure::TailLines& tail, const Style& style);

}  // namespace headway::cli
