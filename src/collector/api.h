// What the API says of jobs, as JSON. Pure but for the store and the jobs that it asks.
#pragma once

#include <cstdint>
#include <string>

#include "collector/jobs.h"
#include "net/http_server.h"
#include "store/store.h"

namespace headway::collector {

inline constexpr std::size_t jobs_listed_max = 1000;

// GET /api/v1/jobs
[[nodiscard]] net::ServerAnswer list_jobs(store::Store& store, const std::string& tenant,
                                          std::size_t rows_max);
// GET /api/v1/jobs/JOB/report: what `headway report JOB --json` says.
[[nodiscard]] net::ServerAnswer report_job(Jobs& jobs, const std::string& tenant,
                                           const std::string& job, std::int64_t now_ns);

}  // namespace headway::collector
