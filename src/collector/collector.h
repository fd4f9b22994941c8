// `headway serve`: takes batches in, keeps them, tells of the jobs. Puts the parts together: a
// server, who may ask, the intake, the jobs in mind. Lives as long as its owner wants; start() and
// stop() from one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "collector/access.h"
#include "collector/intake.h"
#include "collector/jobs.h"
#include "collector/workers.h"
#include "net/http_server.h"
#include "store/store.h"

namespace headway::collector {

// The tenant of those who need no token.
inline constexpr const char* kOpenTenant = "default";

struct CollectorOptions {
  net::ServerOptions server;
  AccessLimits limits;
  JobsOptions jobs;
  IntakeOptions intake;
  int workers = 2;                                // that answer questions
  std::function<void(const std::string&)> log;    // what went wrong, one line each
  std::function<void(const std::string&)> audit;  // every refusal, one line of JSON each
};

class Collector {
 public:
  static base::Result<std::unique_ptr<Collector>> start(CollectorOptions options,
                                                        std::unique_ptr<store::Store> store);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  // Every second or so: new tokens, jobs to forget.
  base::Status tend();
  // What is under way is answered.
  void stop();

 private:
  class Handler;
  Collector() = default;
  base::Status use_tokens();

  bool loopback_ = true;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<Intake> intake_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Handler> handler_;
  std::unique_ptr<net::HttpServer> server_;
};

// Whether only this machine can reach what listens there.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace headway::collector
