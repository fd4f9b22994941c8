// The verbs of the `headway` binary: one file each. A verb adds its sub-command, with help that
// ends in an example, and runs in the sub-command's callback.
//
// Exit codes: 0; 1 the check failed; 2 bad usage or input, after one clear line on stderr. `run`
// returns the first failing rank's own code, and 125 for a fault of its own.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/command_line.h"
#include "interchange/job_input.h"

namespace headway::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitCheckFailed = 1;
inline constexpr int kExitBadInput = 2;

// `exit_code` outlives the parse; a callback sets it.
using AddVerb = void (*)(Verb& app, int& exit_code);

void add_run(Verb& app, int& exit_code);
void add_report(Verb& app, int& exit_code);
void add_import(Verb& app, int& exit_code);
void add_export(Verb& app, int& exit_code);
void add_doctor(Verb& app, int& exit_code);
void add_why(Verb& app, int& exit_code);
void add_ckpt(Verb& app, int& exit_code);
void add_cache(Verb& app, int& exit_code);
void add_interval(Verb& app, int& exit_code);
void add_trace(Verb& app, int& exit_code);
void add_autotune(Verb& app, int& exit_code);
void add_serve(Verb& app, int& exit_code);
void add_ship(Verb& app, int& exit_code);
void add_fleet(Verb& app, int& exit_code);

// Takes the command of `headway run` (script or program, and its arguments) out of the parser's
// sight and keeps it for the verb. Returns how many of `argv` are left to parse.
int split_run_command(const Verb& app, int argc, char** argv);

// --dir, as every verb that has it says it. `name` may hold other names for it.
Option* add_dir_option(Verb& verb, std::string& dir, const std::string& name = "--dir");
// --job, --dir and --skip-bad: how a job is found and read.
void add_load_options(Verb& verb, interchange::LoadOptions& load);

// Prints "headway: MESSAGE" on stderr and returns kExitBadInput.
int fail(const base::Status& status);

}  // namespace headway::cli
