#include "collector/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "collector/alert_api.h"
#include "collector/alert_document.h"
#include "net/curl_transport.h"

namespace headway::collector {

using base::Result;
using base::Status;

namespace {

constexpr std::size_t workers_waiting_max = 1000;

std::string_view state_name(fleet::Ending ending) {
  switch (ending) {
    case fleet::Ending::clean:
      return "finished";
    case fleet::Ending::failed:
      return "failed";
    case fleet::Ending::running:
      break;
  }
  return "running";
}

class NoReply final : public net::Reply {
 public:
  void send(net::ServerAnswer) override {}
  std::shared_ptr<net::AnswerStream> stream(net::ServerAnswer) override { return nullptr; }
};

}  // namespace

Status Collector::use_tokens() {
  auto tokens = store_->tokens();
  if (!tokens.ok()) return tokens.status();
  std::optional<std::string> open;
  if (loopback_) open = kOpenTenant;
  if (loopback_ && tokens->empty()) {
    // A store that has had a token stays closed: to remove the last one is to let nobody in.
    auto had = store_->has_had_tokens();
    if (!had.ok()) return had.status();
    if (had.value()) open.reset();
    if (had.value() && !std::exchange(closed_told_, true)) {
      log_(
          "no token of this store is left, and nobody is let in: make one with `headway serve "
          "token add`");
    }
  }
  if (!tokens->empty()) closed_told_ = false;
  access_->use(std::move(*tokens), std::move(open));
  feed_.keep_only([this](std::int64_t token) { return access_->is_good(token); });
  return {};
}

Status Collector::refresh_what_others_told() {
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, fleet::Ending>> jobs;
  auto changed = tables_->refresh([&](const store::FactRow& row, fleet::Ending ending) {
    auto& last = jobs[{row.tenant, row.job}];
    last = std::max(last, std::pair(row.attempt, ending));
  });
  if (!changed.ok()) return changed.status();
  for (const auto& [job, last] : jobs) {
    const nlohmann::json news = {{"job", job.second}, {"state", state_name(last.second)}};
    feed_.publish(job.first, "job", news.dump());
  }
  publish_fleets(*changed);
  return {};
}

Status Collector::refresh_tables() {
  auto changed = tables_->refresh();
  if (!changed.ok()) return changed.status();
  publish_fleets(*changed);
  return {};
}

void Collector::publish_fleets(const std::vector<std::string>& tenants) {
  for (const std::string& tenant : tenants) {
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
  out.facts_left_out = tables_->troubles();
  if (!store_folder_.empty()) {
    std::error_code error;
    const std::filesystem::space_info room = std::filesystem::space(store_folder_, error);
    if (!error) out.store_free_bytes = room.available;
  }
  if (otlp_) out.otlp = otlp_->counts();
  out.webhook = webhook_->counts();
  out.retention = retention_->counts();
  return out;
}

AlertCounts Collector::alert_counts(const std::string& tenant) {
  auto rows = alerts_->all(tenant);
  return rows.ok() ? count_alerts(*rows, alerts_->options().targets) : AlertCounts();
}

std::vector<interchange::Family> Collector::families(const std::string& tenant, bool whole) {
  return book_.families(tenant, *tables_->snapshot(tenant),
                        whole ? std::optional(counts()) : std::nullopt, alert_counts(tenant),
                        base::real_ns());
}

// The page at once; others when the webhook comes to it.
void Collector::tell_alerts(const std::vector<store::AlertRow>& alerts) {
  for (const store::AlertRow& row : alerts) {
    const nlohmann::json document = nlohmann::json::parse(row.document, nullptr, false);
    const nlohmann::json news = {{"id", row.id}, {"state", document.value("state", "")}};
    feed_.publish(row.tenant, "regression", news.dump());
  }
  webhook_->wake();
}

WebhookSource Collector::webhook_source() {
  return {[this]() -> Result<std::vector<WebhookMessage>> {
            auto rows = alerts_->to_announce();
            if (!rows.ok()) return rows.status();
            std::vector<WebhookMessage> out;
            for (const store::AlertRow& row : *rows) out.push_back(announcement(row));
            return out;
          },
          [this](const WebhookMessage& message, Told told) {
            return alerts_->announced(message.tenant, message.alert, message.announcement_number,
                                      std::string(told_name(told)), base::real_ns());
          }};
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
  out->store_folder_ = options.store_folder;
  out->started_ns_ = options.handler.started_ns;
  out->batches_waiting_max_ = options.intake.waiting_max;
  out->access_ = std::make_unique<Access>(options.limits);
  out->audit_ = std::make_unique<Audit>(std::move(options.audit), options.audit_limits);
  if (Status status = out->use_tokens(); !status.ok()) return status;
  out->jobs_ = std::make_unique<Jobs>(*out->store_, options.jobs);
  out->tables_ = std::make_unique<FleetTables>(*out->store_);
  if (auto read = out->tables_->refresh(); !read.ok()) return read.status();
  for (const std::string& tenant : out->tables_->tenants()) {
    out->book_.begin(tenant, *out->tables_->snapshot(tenant), base::real_ns());
  }
  if (options.otlp) {
    out->otlp_ = std::make_unique<OtlpExport>(
        *out->jobs_, std::move(*options.otlp),
        [collector = out.get()] {
          std::vector<TenantFamilies> all;
          if (!collector->serving_) return all;
          for (const std::string& tenant : collector->tables_->tenants()) {
            all.push_back({tenant, collector->families(tenant, true)});
          }
          return all;
        },
        options.log);
  }
  out->teller_ = std::make_unique<FactTeller>(
      *out->store_, *out->jobs_, options.teller, options.log,
      [collector = out.get()](const std::vector<ToldJob>& told) {
        // First what is answered from: who hears of a job asks at once.
        if (const Status status = collector->refresh_tables(); !status.ok()) {
          collector->log_(status.message());
        }
        for (const ToldJob& job : told) {
          const nlohmann::json news = {{"job", job.job}, {"state", job.state}};
          collector->feed_.publish(job.tenant, "job", news.dump());
        }
        if (collector->otlp_) collector->otlp_->told(told);
      });
  out->alerts_ = std::make_unique<Alerts>(*out->store_, options.alerts);
  out->webhook_ = std::make_unique<Webhook>(
      std::move(options.webhook), std::make_unique<net::CurlTransport>(net::CurlOptions{}),
      out->webhook_source(), options.log);
  out->watcher_ = std::make_unique<Watcher>(
      *out->store_, *out->alerts_, std::move(options.watcher), options.log,
      [collector = out.get()](const std::vector<store::AlertRow>& alerts) {
        collector->tell_alerts(alerts);
      });
  out->retention_ = std::make_unique<Retention>(
      *out->store_, *out->tables_, std::move(options.retention), options.log,
      [collector = out.get()](const std::vector<std::string>& tenants) {
        collector->publish_fleets(tenants);
      });
  out->intake_ = std::make_unique<Intake>(*out->store_, *out->jobs_, options.intake, options.log);
  out->lanes_ = std::make_unique<LaneCache>();
  out->workers_ = std::make_unique<Workers>(options.workers, workers_waiting_max);
  out->caches_ = std::make_unique<CacheApi>(std::move(options.caches));
  out->handler_ = std::make_unique<Handler>(
      Parts{*out->store_, *out->access_, *out->audit_, *out->jobs_, *out->intake_, *out->workers_,
            *out->tables_, out->feed_, *out->alerts_, *out->watcher_, *out->lanes_, *out->caches_,
            [collector = out.get()](const std::string& tenant, bool whole) {
              return collector->families(tenant, whole);
            }},
      std::move(options.handler));
  options.server.log = options.log;
  options.server.refused = [audit = out->audit_.get()](const net::Refusal& refusal) {
    audit->refused(refusal, "", base::monotonic_ns());
  };
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
  jobs_->tend();
  feed_.tend(base::monotonic_ns());
  audit_->tend(base::monotonic_ns());
  if (Status status = use_tokens(); !status.ok()) return status;
  return store_->is_shared() ? refresh_what_others_told() : Status();
}

void Collector::take_in(const std::string& job, std::uint64_t attempt, std::string body) {
  intake_->offer({kOpenTenant, job, attempt, std::move(body), std::make_shared<NoReply>()});
}

void Collector::settle() {
  intake_->drain();
  teller_->flush();
}

void Collector::look_for_regressions(std::optional<std::int64_t> as_of_ns) {
  watcher_->look(as_of_ns);
}

void Collector::forget_old() {
  retention_->look();
}

void Collector::stop() {
  constexpr int grace_ms = 5000;
  if (!server_) return;
  feed_.close();
  server_->stop(grace_ms);
  // Those who tell end before what they tell of: questions that wait may ask for anything, counts
  // of what has ended included.
  workers_->stop();
  caches_.reset();
  intake_->drain();
  teller_->flush();
  teller_.reset();
  if (otlp_) otlp_->stop();
  retention_.reset();
  watcher_.reset();
  webhook_.reset();
  intake_.reset();
  audit_->tend(base::monotonic_ns(), true);
  server_.reset();
}

}  // namespace headway::collector
