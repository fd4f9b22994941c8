// `headway serve`: takes batches in, keeps them, tells of the jobs and of the fleet. Puts the parts
// together: a server, who may ask, the intake, the jobs in mind, their facts, those who look on.
// Lives as long as its owner wants; start(), tend() and stop() from one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "collector/access.h"
#include "collector/alerts.h"
#include "collector/audit.h"
#include "collector/cache_api.h"
#include "collector/fact_teller.h"
#include "collector/fleet_tables.h"
#include "collector/handler.h"
#include "collector/host_guard.h"
#include "collector/intake.h"
#include "collector/jobs.h"
#include "collector/live_feed.h"
#include "collector/metrics_page.h"
#include "collector/otlp_export.h"
#include "collector/retention.h"
#include "collector/watcher.h"
#include "collector/webhook.h"
#include "collector/workers.h"
#include "net/http_server.h"
#include "store/store.h"

namespace headway::collector {

struct CollectorOptions {
  net::ServerOptions server;
  AccessLimits limits;
  JobsOptions jobs;
  IntakeOptions intake;
  TellerOptions teller;
  WatcherOptions watcher;
  WebhookOptions webhook;
  AlertOptions alerts;
  std::optional<OtlpOptions> otlp;  // none: nothing is sent
  RetentionOptions retention;
  HandlerOptions handler;
  CacheRoomOptions caches;
  AuditLimits audit_limits;
  std::function<void(const std::string&)> audit;  // who was refused, one line of JSON each
  int workers = 2;                                // that answer questions
  std::string store_folder;                       // whose disk's room is told; empty: none
  std::function<void(const std::string&)> log;    // what went wrong, one line each
};

class Collector {
 public:
  static base::Result<std::unique_ptr<Collector>> start(CollectorOptions options,
                                                        std::unique_ptr<store::Store> store);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  // Every second or so: new tokens, jobs to forget, what other collectors of the store heard.
  base::Status tend();
  // A batch that did not come over the network. Its answer is nobody's.
  void take_in(const std::string& job, std::uint64_t attempt, std::string body);
  // All that was taken in until now is in the fleet's account.
  void settle();
  // Looks for regressions, and returns when it has. `as_of_ns`: as if it were then, else now.
  void look_for_regressions(std::optional<std::int64_t> as_of_ns = {});
  // Forgets what is too old now, and returns when it has.
  void forget_old();
  // What is under way is answered.
  void stop();

 private:
  Collector() = default;
  base::Status use_tokens();
  base::Status refresh_tables();
  base::Status refresh_what_others_told();
  void publish_fleets(const std::vector<std::string>& tenants);
  void tell_alerts(const std::vector<store::AlertRow>& alerts);
  [[nodiscard]] WebhookSource webhook_source();
  [[nodiscard]] CollectorCounts counts() const;
  [[nodiscard]] AlertCounts alert_counts(const std::string& tenant);
  std::vector<interchange::Family> families(const std::string& tenant, bool whole);

  bool loopback_ = true;
  bool closed_told_ = false;          // that no token is left
  std::atomic<bool> serving_{false};  // all parts are there
  std::function<void(const std::string&)> log_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<Audit> audit_;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<FleetTables> tables_;
  LiveFeed feed_;
  MetricsBook book_;
  std::string version_, engine_, store_folder_;
  std::int64_t started_ns_ = 0;
  std::size_t batches_waiting_max_ = 0;
  std::unique_ptr<OtlpExport> otlp_;
  std::unique_ptr<FactTeller> teller_;
  std::unique_ptr<Alerts> alerts_;
  std::unique_ptr<Webhook> webhook_;
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<Retention> retention_;
  std::unique_ptr<Intake> intake_;
  std::unique_ptr<LaneCache> lanes_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<CacheApi> caches_;
  std::unique_ptr<Handler> handler_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace headway::collector
