// What the API says of regressions, and what people do about them. Pure but for the alerts that it
// asks.
#pragma once

#include <cstdint>
#include <string>

#include "collector/alerts.h"
#include "collector/watcher.h"
#include "net/http_server.h"

namespace headway::collector {

// A regression should be known within three days of its beginning: with 200 attempts a day and 10%
// noise a change of 2% is (docs/regressions.md).
inline constexpr double alert_target_s = 3 * 86'400;

// GET /api/v1/regressions
[[nodiscard]] net::ServerAnswer regressions_answer(Alerts& alerts, const Watcher& watcher,
                                                   const std::string& tenant,
                                                   const net::ServerRequest& request);
// POST /api/v1/regressions/ID/acknowledge; `changed` is set to the alert's document.
[[nodiscard]] net::ServerAnswer acknowledge_answer(Alerts& alerts, const std::string& tenant,
                                                   std::int64_t id,
                                                   const net::ServerRequest& request,
                                                   std::int64_t now_ns);

}  // namespace headway::collector
