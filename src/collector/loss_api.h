// Answers about what the fleet loses and why: losses, failures, hosts, and what changed from one
// period to another. Pure.
#pragma once

#include "fleet/table.h"
#include "net/http_server.h"

namespace headway::collector {

[[nodiscard]] net::ServerAnswer losses_answer(const net::ServerRequest& request,
                                              const fleet::Snapshot& snapshot);
[[nodiscard]] net::ServerAnswer failures_answer(const net::ServerRequest& request,
                                                const fleet::Snapshot& snapshot);
[[nodiscard]] net::ServerAnswer hosts_answer(const net::ServerRequest& request,
                                             const fleet::Snapshot& snapshot);
// From the days and values of `from_a`, `to_a`, `where_a` to those of `…_b`. Where no days are
// given, the second half of those that have anything against the first.
[[nodiscard]] net::ServerAnswer waterfall_answer(const net::ServerRequest& request,
                                                 const fleet::Snapshot& snapshot);

}  // namespace headway::collector
