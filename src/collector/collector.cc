#include "collector/collector.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/job_path.h"
#include "collector/answers.h"
#include "collector/api.h"
#include "ingest/format.h"

namespace headway::collector {

using base::Result;
using base::Status;
using net::ServerAnswer;
using net::ServerRequest;
using store::Role;

namespace {

constexpr std::size_t workers_waiting_max = 1000;

enum class Place : std::uint8_t { none, health, ingest, jobs, report };

struct Route {
  Place place = Place::none;
  Role role = Role::read;
  std::string_view method;
  std::string job;
  std::uint64_t attempt = 0;
};

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t from = 1;
  while (from <= path.size()) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    parts.push_back(path.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > INT64_MAX) return {};
  return value;
}

Route route_of(const std::string& path) {
  if (path == "/healthz") return {Place::health, Role::read, "GET", {}, 0};
  const std::vector<std::string> parts = parts_of(path);
  if (parts.size() < 3 || parts[0] != "api" || parts[1] != "v1") return {};
  if (parts[2] == "ingest" && parts.size() == 5) {
    const auto attempt = number_of(parts[4]);
    if (!attempt || !base::is_job_name(parts[3])) return {};
    return {Place::ingest, Role::ingest, "POST", parts[3], *attempt};
  }
  if (parts[2] == "jobs" && parts.size() == 3) return {Place::jobs, Role::read, "GET", {}, 0};
  if (parts[2] == "jobs" && parts.size() == 5 && parts[4] == "report") {
    return {Place::report, Role::read, "GET", parts[3], 0};
  }
  return {};
}

}  // namespace

class Collector::Handler final : public net::RequestHandler {
 public:
  Handler(const CollectorOptions& options, store::Store& store, Access& access, Jobs& jobs,
          Intake& intake, Workers& workers)
      : audit_(options.audit),
        store_(store),
        access_(access),
        jobs_(jobs),
        intake_(intake),
        workers_(workers) {}

  net::Admission admit(const ServerRequest& head) override {
    const Route route = route_of(head.path);
    if (route.place == Place::none) return {error_answer(404, "there is nothing here"), 0};
    if (head.method != route.method && !(head.method == "HEAD" && route.method == "GET")) {
      ServerAnswer answer = error_answer(405, fmt::format("this place takes {}", route.method));
      answer.headers.emplace_back("Allow", std::string(route.method));
      return {std::move(answer), 0};
    }
    if (route.place == Place::health) return {{}, 0};
    const Decision decision = decide(head, route);
    if (!decision.allowed) return {refusal(head, decision), 0};
    return {{}, route.place == Place::ingest ? ingest::batch_bytes_max : 0};
  }

  void handle(ServerRequest request, std::shared_ptr<net::Reply> reply) override {
    const Route route = route_of(request.path);
    if (route.place == Place::health) {
      return reply->send(json_answer(200, "{\"status\":\"ok\"}\n"));
    }
    const std::string tenant = access_.tenant_of(request.header("authorization"));
    if (tenant.empty()) return reply->send(error_answer(401, "this token was just taken back"));
    if (route.place == Place::ingest) {
      return intake_.offer(
          {tenant, route.job, route.attempt, std::move(request.body), std::move(reply)});
    }
    const bool taken = workers_.add([this, route, tenant, reply] {
      reply->send(route.place == Place::jobs
                      ? list_jobs(store_, tenant, jobs_listed_max)
                      : report_job(jobs_, tenant, route.job, base::real_ns()));
    });
    if (!taken) reply->send(later_answer(503, "too many questions at once", 1));
  }

 private:
  Decision decide(const ServerRequest& head, const Route& route) {
    return access_.decide(head.header("authorization"), head.peer, route.role,
                          base::clock_ns(CLOCK_MONOTONIC));
  }
  ServerAnswer refusal(const ServerRequest& head, const Decision& decision) {
    if (audit_) {
      const nlohmann::json line = {{"t_ns", base::real_ns()},   {"peer", head.peer},
                                   {"method", head.method},     {"path", head.path},
                                   {"status", decision.status}, {"why", decision.why},
                                   {"token", decision.label}};
      audit_(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    if (decision.retry_after_s) {
      return later_answer(decision.status, decision.why, *decision.retry_after_s);
    }
    ServerAnswer answer = error_answer(decision.status, decision.why);
    if (decision.status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }

  const std::function<void(const std::string&)> audit_;
  store::Store& store_;
  Access& access_;
  Jobs& jobs_;
  Intake& intake_;
  Workers& workers_;
};

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
  out->access_ = std::make_unique<Access>(options.limits);
  if (Status status = out->use_tokens(); !status.ok()) return status;
  out->jobs_ = std::make_unique<Jobs>(*out->store_, options.jobs);
  out->intake_ = std::make_unique<Intake>(*out->store_, *out->jobs_, options.intake, options.log);
  out->workers_ = std::make_unique<Workers>(options.workers, workers_waiting_max);
  out->handler_ = std::make_unique<Handler>(options, *out->store_, *out->access_, *out->jobs_,
                                            *out->intake_, *out->workers_);
  options.server.log = options.log;
  auto server = net::HttpServer::start(std::move(options.server), *out->handler_);
  if (!server.ok()) return server.status();
  out->server_ = std::move(*server);
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
  return use_tokens();
}

void Collector::stop() {
  constexpr int grace_ms = 5000;
  if (server_) server_->stop(grace_ms);
  workers_.reset();
  intake_.reset();
  server_.reset();
}

}  // namespace headway::collector
