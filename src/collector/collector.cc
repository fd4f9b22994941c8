#include "collector/collector.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "net/curl_transport.h"

namespace headway::collector {

using base::Result;
using base::Status;

namespace {

constexpr std::size_t workers_waiting_max = 1000;

class NoReply final : public net::Reply {
 public:
  void send(net::ServerAnswer) override {}
  std::shared_ptr<net::AnswerStream> stream(net::ServerAnswer) override { return nullptr; }
};

}  // namespace

bool is_loopback(const std::string& address) {
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, address.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

Status Collector::use_tokens() {
  auto tokens = store_->tokens();
  if (!tokens.ok()) return tokens.status();
  access_->use(std::move(*tokens),
               loopback_ ? std::optional<std::string>(kOpenTenant) : std::nullopt);
  return {};
}

void Collector::refresh_tables() {
  auto changed = tables_->refresh();
  if (!changed.ok()) return log_(changed.status().message());
  for (const std::string& tenant : *changed) {
    feed_.publish(tenant, "fleet",
                  fmt::format("{{\"version\":{}}}", tables_->snapshot(tenant)->version()));
  }
}

CollectorCounts Collector::counts() const {
  CollectorCounts out;
  out.version = version_;
  out.engine = engine_;
  out.started_ns = started_ns_;
  out.intake = intake_->counts();
  out.batches_waiting = intake_->waiting();
  out.batches_waiting_max = batches_waiting_max_;
  out.server = server_->counts();
  out.jobs = jobs_->size();
  out.questions_waiting = workers_->waiting();
  out.readers = feed_.readers();
  out.facts_unreadable = tables_->unreadable();
  if (otlp_) out.otlp = otlp_->counts();
  return out;
}

AlertCounts Collector::alert_counts(const std::string& tenant) {
  AlertCounts out;
  auto rows = alerts_->all(tenant);
  if (!rows.ok()) return out;
  for (const store::AlertRow& row : *rows) {
    const nlohmann::json document = nlohmann::json::parse(row.document, nullptr, false);
    if (!document.is_object()) continue;
    const std::string state = document.value("state", "");
    ++(state == "open" ? out.open : state == "acknowledged" ? out.acknowledged : out.gone);
  }
  return out;
}

std::vector<interchange::Family> Collector::families(const std::string& tenant) {
  return book_.families(tenant, *tables_->snapshot(tenant), counts(), alert_counts(tenant),
                        base::real_ns());
}

// The page at once; others when something is new or over, not whenever a number has moved.
void Collector::tell_alert(const Alert& alert) {
  const nlohmann::json document = nlohmann::json::parse(alert.row.document, nullptr, false);
  const std::string state = document.value("state", "");
  const nlohmann::json news = {{"id", alert.row.id}, {"state", state}};
  feed_.publish(alert.row.tenant, "regression", news.dump());
  if (!alert.fresh && state != "gone") return;
  const nlohmann::json body = {{"event", "regression"},
                               {"tenant", alert.row.tenant},
                               {"id", alert.row.id},
                               {"state", state},
                               {"regression", document}};
  webhook_->send(fmt::format("{}-{}-{}", alert.row.tenant, alert.row.id, state),
                 body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                 base::real_ns());
}

Result<std::unique_ptr<Collector>> Collector::start(CollectorOptions options,
                                                    std::unique_ptr<store::Store> store) {
  std::unique_ptr<Collector> out(new Collector);
  out->store_ = std::move(store);
  out->loopback_ = is_loopback(options.server.address);
  if (!out->loopback_) {
    auto tokens = out->store_->tokens();
    if (!tokens.ok()) return tokens.status();
    if (tokens->empty()) {
      return Status::invalid(fmt::format(
          "{}: can be reached from elsewhere, and this store has no token yet: make one with "
          "`headway serve token add`, or listen on 127.0.0.1",
          options.server.address));
    }
  }
  if (!options.log) options.log = [](const std::string&) {};
  out->log_ = options.log;
  out->version_ = options.handler.version;
  out->engine_ = options.handler.engine;
  out->started_ns_ = options.handler.started_ns;
  out->batches_waiting_max_ = options.intake.waiting_max;
  out->access_ = std::make_unique<Access>(options.limits);
  if (Status status = out->use_tokens(); !status.ok()) return status;
  out->jobs_ = std::make_unique<Jobs>(*out->store_, options.jobs);
  out->tables_ = std::make_unique<FleetTables>(*out->store_);
  if (auto read = out->tables_->refresh(); !read.ok()) return read.status();
  if (options.otlp) {
    out->otlp_ = std::make_unique<OtlpExport>(
        *out->jobs_, std::move(*options.otlp),
        [collector = out.get()] {
          std::vector<TenantFamilies> all;
          if (!collector->serving_) return all;
          for (const std::string& tenant : collector->tables_->tenants()) {
            all.push_back({tenant, collector->families(tenant)});
          }
          return all;
        },
        options.log);
  }
  out->teller_ = std::make_unique<FactTeller>(
      *out->store_, *out->jobs_, options.teller, options.log,
      [collector = out.get()](const std::vector<ToldJob>& told) {
        for (const ToldJob& job : told) {
          const nlohmann::json news = {{"job", job.job}, {"state", job.state}};
          collector->feed_.publish(job.tenant, "job", news.dump());
        }
        collector->refresh_tables();
        if (collector->otlp_) collector->otlp_->told(told);
      });
  out->alerts_ = std::make_unique<Alerts>(*out->store_);
  out->webhook_ = std::make_unique<Webhook>(
      std::move(options.webhook), std::make_unique<net::CurlTransport>(net::CurlOptions{}),
      options.log);
  out->watcher_ = std::make_unique<Watcher>(
      *out->store_, *out->alerts_, std::move(options.watcher), options.log,
      [collector = out.get()](const Alert& alert) { collector->tell_alert(alert); });
  out->intake_ = std::make_unique<Intake>(*out->store_, *out->jobs_, options.intake, options.log);
  out->workers_ = std::make_unique<Workers>(options.workers, workers_waiting_max);
  out->caches_ = std::make_unique<CacheApi>(std::move(options.caches));
  out->handler_ = std::make_unique<Handler>(
      Parts{*out->store_, *out->access_, *out->jobs_, *out->intake_, *out->workers_, *out->tables_,
            out->feed_, *out->alerts_, *out->watcher_, *out->caches_,
            [collector = out.get()](const std::string& tenant) {
              return collector->families(tenant);
            }},
      std::move(options.handler));
  options.server.log = options.log;
  auto server = net::HttpServer::start(std::move(options.server), *out->handler_);
  if (!server.ok()) return server.status();
  out->server_ = std::move(*server);
  out->serving_ = true;
  return out;
}

Collector::~Collector() {
  stop();
}

std::uint16_t Collector::port() const {
  return server_->port();
}

Status Collector::tend() {
  jobs_->tend(base::real_ns());
  feed_.tend(base::monotonic_ns());
  return use_tokens();
}

void Collector::take_in(const std::string& job, std::uint64_t attempt, std::string body) {
  intake_->offer({kOpenTenant, job, attempt, std::move(body), std::make_shared<NoReply>()});
}

void Collector::settle() {
  intake_->drain();
  teller_->flush();
}

void Collector::look_for_regressions() {
  watcher_->look();
}

void Collector::stop() {
  constexpr int grace_ms = 5000;
  if (!server_) return;
  feed_.close();
  server_->stop(grace_ms);
  // Those who tell end before what they tell of.
  intake_->drain();
  teller_->flush();
  teller_.reset();
  otlp_.reset();
  watcher_.reset();
  webhook_.reset();
  workers_.reset();
  caches_.reset();
  intake_.reset();
  server_.reset();
}

}  // namespace headway::collector
