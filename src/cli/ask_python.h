// A short program for a Python of this machine, and what it prints. One thread; waits at most
// python_answer_ms_max for the answer.
#pragma once

#include <string>

namespace headway::cli {

inline constexpr int python_answer_ms_max = 30'000;

// Runs `command -c question argument` with its output in `answer`; an empty string when all is
// well, else what is wrong.
std::string ask_python(const std::string& command, const std::string& question,
                       const std::string& argument, std::string& answer);

}  // namespace headway::cli
