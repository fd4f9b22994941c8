// Answers requests: who may ask is access.h's to say, where is route.h's, what is said is the api
// files'. Called by the server's threads; what takes time is done by workers. Holds nothing of its
// own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collector/access.h"
#include "collector/alerts.h"
#include "collector/audit.h"
#include "collector/cache_api.h"
#include "collector/fleet_tables.h"
#include "collector/intake.h"
#include "collector/jobs.h"
#include "collector/lane_cache.h"
#include "collector/live_feed.h"
#include "collector/metrics_page.h"
#include "collector/route.h"
#include "collector/watcher.h"
#include "collector/workers.h"
#include "net/http_server.h"
#include "store/store.h"

namespace headway::collector {

// What a handler needs of the collector. All of it outlives the handler.
struct Parts {
  store::Store& store;
  Access& access;
  Audit& audit;
  Jobs& jobs;
  Intake& intake;
  Workers& workers;
  FleetTables& tables;
  LiveFeed& feed;
  Alerts& alerts;
  Watcher& watcher;
  LaneCache& lanes;
  CacheApi& caches;
  // What /metrics tells a tenant. `whole`: of the collector, too.
  std::function<std::vector<interchange::Family>(const std::string& tenant, bool whole)> families;
};

struct HandlerOptions {
  std::string version, engine;  // of Headway; of the store
  bool demo = false;
  std::int64_t started_ns = 0;
};

class Handler final : public net::RequestHandler {
 public:
  Handler(Parts parts, HandlerOptions options)
      : parts_(std::move(parts)), options_(std::move(options)) {}

  net::Admission admit(const net::ServerRequest& head) override;
  void handle(net::ServerRequest request, std::shared_ptr<net::Reply> reply) override;

 private:
  net::Admission refuse(const net::ServerRequest& head, net::ServerAnswer answer,
                        const std::string& why, const std::string& label = {}) const;
  net::ServerAnswer refusal(const Decision& decision) const;
  void answer_open(const Route& route, const net::ServerRequest& request, net::Reply& reply) const;
  net::ServerAnswer status(const Asker& asker) const;
  net::ServerAnswer timeline(const Route& route, const net::ServerRequest& request,
                             const std::string& tenant) const;
  net::ServerAnswer answer(const Route& route, const net::ServerRequest& request,
                           const Asker& asker) const;

  const Parts parts_;
  const HandlerOptions options_;
};

}  // namespace headway::collector
