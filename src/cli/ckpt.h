#pragma once
#include <CLI/CLI.hpp>

#include "base/status.h"
namespace headway::cli {
void add_ckpt_hold(CLI::App& ckpt, int& exit_code);
int fail_cleanly(const base::Status& status);
}  // namespace headway::cli
