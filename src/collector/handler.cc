#include "collector/handler.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "collector/alert_api.h"
#include "collector/answers.h"
#include "collector/api.h"
#include "collector/fleet_api.h"
#include "collector/fleet_question.h"
#include "collector/page.h"
#include "collector/timeline_api.h"
#include "fleet/catalogue.h"
#include "ingest/format.h"

namespace headway::collector {

using net::ServerAnswer;
using net::ServerRequest;

namespace {

constexpr std::size_t acknowledgement_bytes_max = 8192;

std::size_t body_bytes_max(Place place) {
  if (place == Place::ingest) return ingest::batch_bytes_max;
  return place == Place::acknowledge ? acknowledgement_bytes_max : 0;
}

}  // namespace

net::Admission Handler::admit(const ServerRequest& head) {
  Route route = route_of(head.path);
  if (route.place == Place::none) return {error_answer(404, "there is nothing here"), 0};
  if (route.place == Place::caches) {
    const auto role = CacheApi::role_for(route, head.method);
    route.method = role ? std::string_view(head.method) : CacheApi::methods;
    if (role) route.role = *role;
  }
  if (head.method != route.method && !(head.method == "HEAD" && route.method == "GET")) {
    ServerAnswer answer = error_answer(405, fmt::format("this place takes {}", route.method));
    answer.headers.emplace_back("Allow", std::string(route.method));
    return {std::move(answer), 0};
  }
  if (route.open) return {{}, 0};
  const Decision decision = parts_.access.decide(head.header("authorization"), head.peer,
                                                 route.role, base::clock_ns(CLOCK_MONOTONIC));
  if (!decision.allowed) return {refusal(head, decision), 0};
  const bool is_piece = route.place == Place::caches && head.method == "PUT";
  return {{}, is_piece ? cache_piece_in_max : body_bytes_max(route.place)};
}

ServerAnswer Handler::refusal(const ServerRequest& head, const Decision& decision) const {
  if (options_.audit) {
    const nlohmann::json line = {{"t_ns", base::real_ns()},   {"peer", head.peer},
                                 {"method", head.method},     {"path", head.path},
                                 {"status", decision.status}, {"why", decision.why},
                                 {"token", decision.label}};
    options_.audit(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  if (decision.retry_after_s) {
    return later_answer(decision.status, decision.why, *decision.retry_after_s);
  }
  ServerAnswer answer = error_answer(decision.status, decision.why);
  if (decision.status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

void Handler::answer_open(const Route& route, const ServerRequest& request,
                          net::Reply& reply) const {
  if (route.place == Place::health) return reply.send(json_answer(200, "{\"status\":\"ok\"}\n"));
  reply.send(page_answer(route.place == Place::openapi ? "/openapi.json" : request.path,
                         request.header("if-none-match"), request.header("accept-encoding")));
}

void Handler::handle(ServerRequest request, std::shared_ptr<net::Reply> reply) {
  const Route route = route_of(request.path);
  if (route.open) return answer_open(route, request, *reply);
  const std::string tenant = parts_.access.tenant_of(request.header("authorization"));
  if (tenant.empty()) return reply->send(error_answer(401, "this token was just taken back"));
  if (route.place == Place::ingest) {
    return parts_.intake.offer(
        {tenant, route.job, route.attempt, std::move(request.body), std::move(reply)});
  }
  if (route.place == Place::events) return parts_.feed.add(tenant, reply);
  if (route.place == Place::caches) {
    return parts_.caches.offer(route, tenant, std::move(request), std::move(reply));
  }
  const bool taken = parts_.workers.add([this, route, tenant, request = std::move(request), reply] {
    reply->send(answer(route, request, tenant));
  });
  if (!taken) reply->send(later_answer(503, "too many questions at once", 1));
}

ServerAnswer Handler::status(const std::string& tenant, std::string_view authorization) const {
  const IntakeCounts counts = parts_.intake.counts();
  CollectorStatus out;
  out.version = options_.version;
  out.engine = options_.engine;
  out.tenant = tenant;
  out.role = parts_.access.role_name_of(authorization);
  out.demo = options_.demo;
  out.now_ns = base::real_ns();
  out.started_ns = options_.started_ns;
  const fleet::Catalogue all = fleet::catalogue(*parts_.tables.snapshot(tenant));
  out.jobs = all.jobs;
  out.jobs_running = all.jobs_running;
  out.attempts = all.attempts;
  out.jobs_in_mind = parts_.jobs.size();
  out.batches = counts.batches;
  out.records = counts.slots;
  return status_answer(out);
}

ServerAnswer Handler::timeline(const Route& route, const ServerRequest& request,
                               const std::string& tenant) const {
  TimelineQuestion question;
  auto from = number_of(request, "from_ns", INT64_MIN, -timeline::kTimeMax, timeline::kTimeMax);
  auto to = number_of(request, "to_ns", INT64_MIN, -timeline::kTimeMax, timeline::kTimeMax);
  auto slices = number_of(request, "slices", question.slices, 1, timeline::LaneWindow::slices_max);
  for (const base::Status& status : {from.status(), to.status(), slices.status()}) {
    if (!status.ok()) return error_answer(400, status.message());
  }
  if (*from != INT64_MIN) question.from_ns = *from;
  if (*to != INT64_MIN) question.to_ns = *to;
  question.slices = static_cast<std::uint32_t>(*slices);
  return job_timeline(parts_.store, parts_.jobs, tenant, route.job, question, base::real_ns());
}

ServerAnswer Handler::answer(const Route& route, const ServerRequest& request,
                             const std::string& tenant) const {
  const std::int64_t now_ns = base::real_ns();
  switch (route.place) {
    case Place::status:
      return status(tenant, request.header("authorization"));
    case Place::metrics:
      return metrics_answer(parts_.families(tenant), request.header("accept"));
    case Place::jobs:
      return jobs_answer(request, *parts_.tables.snapshot(tenant), now_ns);
    case Place::report:
      return report_job(parts_.jobs, tenant, route.job, now_ns);
    case Place::advice:
      return advise_job(parts_.jobs, tenant, route.job, now_ns);
    case Place::timeline:
      return timeline(route, request, tenant);
    case Place::regressions:
      return regressions_answer(parts_.alerts, parts_.watcher, tenant, request);
    case Place::acknowledge: {
      ServerAnswer answer = acknowledge_answer(parts_.alerts, tenant, route.id, request, now_ns);
      if (answer.status == 200) {
        parts_.feed.publish(tenant, "regression",
                            fmt::format("{{\"id\":{},\"state\":\"acknowledged\"}}", route.id));
      }
      return answer;
    }
    default:
      return fleet_answer(route.place, request, *parts_.tables.snapshot(tenant));
  }
}

}  // namespace headway::collector
