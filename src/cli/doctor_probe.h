// Gathers the facts that doctor_checks.h judges: reads /proc and /sys, tries the calls that Headway
// depends on, and asks the Python that a run would use. Changes nothing that outlives it, except
// that the jobs folder is made when it is missing. One thread.
#pragma once

#include <string>

#include "cli/doctor_checks.h"

namespace headway::cli {

MachineFacts probe_machine(const std::string& jobs_dir);

}  // namespace headway::cli
