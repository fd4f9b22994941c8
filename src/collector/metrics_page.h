// GET /metrics: how the collector is, and a tenant's fleet, for whoever scrapes. What the numbers
// mean says docs/monitoring.md. The text is a function of its arguments; a book keeps what counters
// need to know of the past, one page for each tenant.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/alert_counts.h"
#include "collector/fleet_counters.h"
#include "collector/intake.h"
#include "collector/retention.h"
#include "collector/webhook.h"
#include "fleet/table.h"
#include "interchange/export_families.h"
#include "net/http_server.h"
#include "otlp/sender.h"
#include "regress/sla.h"

namespace headway::collector {

// What the collector knows of itself at one moment.
struct CollectorCounts {
  std::string version, engine;  // of Headway; of the store
  std::int64_t started_ns = 0;
  IntakeCounts intake;
  std::uint64_t batches_waiting = 0, batches_waiting_max = 0;
  net::ServerCounts server;
  std::uint64_t jobs = 0;               // in mind
  std::uint64_t questions_waiting = 0;  // for a worker
  std::uint64_t readers = 0;            // of live events
  std::uint64_t facts_unreadable = 0;
  fleet::TableTroubles facts_left_out;
  std::optional<std::uint64_t> store_free_bytes;  // none: the store is not in a file system here
  WebhookCounts webhook;
  RetentionCounts retention;
  struct Otlp {
    otlp::SenderCounts sent;
    std::uint64_t waiting = 0;       // requests
    std::uint64_t jobs_dropped = 0;  // whose spans were never looked at, for want of room
  };
  std::optional<Otlp> otlp;  // none: nothing is sent
};

// No counts: of the fleet alone.
[[nodiscard]] std::vector<interchange::Family> metric_families(
    const std::optional<CollectorCounts>& counts, const AlertCounts& alerts,
    const FleetCounters& fleet);
// OpenMetrics, or the older format for who asks for that alone.
[[nodiscard]] net::ServerAnswer metrics_answer(const std::vector<interchange::Family>& families,
                                               std::string_view accept);

// The counters of every tenant. Any thread; a tenant's are taken by one at a time.
class MetricsBook {
 public:
  static constexpr std::size_t tenants_max = 1000;

  // When the collector starts, for every tenant that it finds: what there is by then is not
  // counted.
  void begin(const std::string& tenant, const fleet::Snapshot& snapshot, std::int64_t now_ns);
  // Counts `snapshot` in, and tells. Of a tenant that has come since, all counts.
  [[nodiscard]] std::vector<interchange::Family> families(
      const std::string& tenant, const fleet::Snapshot& snapshot,
      const std::optional<CollectorCounts>& counts, const AlertCounts& alerts, std::int64_t now_ns);

 private:
  struct Page {
    std::mutex mutex;
    FleetCounters counters;
  };
  [[nodiscard]] std::shared_ptr<Page> page_of(const std::string& tenant,
                                              const fleet::Snapshot& beginning,
                                              std::int64_t now_ns);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Page>> pages_;
};

}  // namespace headway::collector
