// What `headway why` is asked about, and all that there is to judge it by: logs that were named, or
// the newest failure of a job. Files only; one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "failure/classify.h"
#include "failure/evidence.h"
#include "interchange/job_input.h"

namespace headway::cli {

struct Question {
  std::string about;  // in words
  failure::Evidence evidence;
  std::optional<failure::Verdict> seen;  // by the agent, or by the lack of any end: no log shows it
  std::string not_failed;                // what there is to say instead; empty: it failed
  std::string decision;                  // what the agent did about it
  std::string folder;                    // the attempt's; empty: none
  std::string also;                      // what has become of the job since
  std::string reached;                   // how far the attempt had got; empty: not known
  bool rank_known = true;                // false: one log, and nothing says whose
};

base::Result<Question> ask_about_logs(const std::vector<std::string>& paths);
// `job` empty: the most recent one.
base::Result<Question> ask_about_job(const std::string& job,
                                     const interchange::LoadOptions& options);

}  // namespace headway::cli
