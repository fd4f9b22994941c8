// What the API says of one job, and of the collector itself, as JSON. Pure but for the jobs that it
// asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collector/jobs.h"
#include "net/http_server.h"

namespace headway::collector {

// GET /api/v1/jobs/JOB/report: what `headway report JOB --json` says.
[[nodiscard]] net::ServerAnswer report_job(Jobs& jobs, const std::string& tenant,
                                           const std::string& job, std::int64_t now_ns);

// GET /api/v1/jobs/JOB/advice: what its largest losses are, and what to do about them.
[[nodiscard]] net::ServerAnswer advise_job(Jobs& jobs, const std::string& tenant,
                                           const std::string& job, std::int64_t now_ns);

struct CollectorStatus {
  std::string version, engine, tenant;
  std::string_view role;  // "open": there are no tokens
  bool demo = false;
  std::int64_t now_ns = 0, started_ns = 0;
  std::uint64_t jobs = 0, jobs_running = 0, attempts = 0;  // of the tenant
  // Of the collector, since it started: of all tenants together, and so for its owner's alone.
  struct Whole {
    std::uint64_t jobs_in_mind = 0, batches = 0, records = 0;
  };
  std::optional<Whole> whole;
};
// GET /api/v1/status
[[nodiscard]] net::ServerAnswer status_answer(const CollectorStatus& status);

}  // namespace headway::collector
