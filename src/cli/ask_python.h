// A short program of this machine, most often for a Python, and what it prints. One thread; waits
// at most python_answer_ms_max for the answer.
#pragma once

#include <string>
#include <vector>

namespace headway::cli {

inline constexpr int python_answer_ms_max = 30'000;

// Runs that program with its output in `answer`, as ask_python() does.
std::string ask_program(std::vector<std::string> argv, std::string& answer,
                        int wait_ms = python_answer_ms_max);

// Runs `command -c question argument` with its output in `answer`; an empty string when all is
// well, else what is wrong.
std::string ask_python(const std::string& command, const std::string& question,
                       const std::string& argument, std::string& answer,
                       int wait_ms = python_answer_ms_max);

}  // namespace headway::cli
