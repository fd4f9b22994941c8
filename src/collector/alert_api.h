// What the API says of regressions, and what people do about them. Pure but for the alerts that it
// asks.
#pragma once

#include <cstdint>
#include <string>

#include "collector/alerts.h"
#include "collector/watcher.h"
#include "net/http_server.h"

namespace headway::collector {

// GET /api/v1/regressions
[[nodiscard]] net::ServerAnswer regressions_answer(Alerts& alerts, const Watcher& watcher,
                                                   const std::string& tenant,
                                                   const net::ServerRequest& request);
// POST /api/v1/regressions/ID/acknowledge; the answer is the alert as it is then.
[[nodiscard]] net::ServerAnswer acknowledge_answer(Alerts& alerts, const std::string& tenant,
                                                   std::int64_t id,
                                                   const net::ServerRequest& request,
                                                   std::int64_t now_ns);

}  // namespace headway::collector
