// Answers about the fleet, of one tenant's facts (docs/serve.md, openapi.json). Pure.
#pragma once

#include <cstdint>

#include "collector/route.h"
#include "fleet/table.h"
#include "net/http_server.h"

namespace headway::collector {

// For the places below /api/v1/fleet. An argument that makes no sense is a 400 that says which.
[[nodiscard]] net::ServerAnswer fleet_answer(Place place, const net::ServerRequest& request,
                                             const fleet::Snapshot& snapshot);

// GET /api/v1/jobs.
[[nodiscard]] net::ServerAnswer jobs_answer(const net::ServerRequest& request,
                                            const fleet::Snapshot& snapshot, std::int64_t now_ns);

}  // namespace headway::collector
