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
#include "collector/host_guard.h"
#include "collector/page.h"
#include "collector/rank_choice.h"
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

// A gap is no refusal: it is how sender and collector find each other again.
bool is_refusal(int status) {
  return status >= 400 && status != 409;
}

std::string why_of(const ServerAnswer& answer) {
  const nlohmann::json body = nlohmann::json::parse(answer.body, nullptr, false);
  return body.is_object() ? body.value("error", "") : "";
}

// An answer on its way, with a line for the audit if it is a refusal.
class AuditedReply final : public net::Reply {
 public:
  AuditedReply(Audit& audit, const ServerRequest& request, std::string label,
               std::shared_ptr<net::Reply> reply)
      : audit_(audit),
        refusal_{request.peer, request.method, request.path, 0, {}},
        label_(std::move(label)),
        reply_(std::move(reply)) {}
  void send(ServerAnswer answer) override {
    if (is_refusal(answer.status)) {
      refusal_.status = answer.status;
      refusal_.why = why_of(answer);
      audit_.refused(refusal_, label_, base::monotonic_ns());
    }
    reply_->send(std::move(answer));
  }
  std::shared_ptr<net::AnswerStream> stream(ServerAnswer head) override {
    return reply_->stream(std::move(head));
  }

 private:
  Audit& audit_;
  net::Refusal refusal_;
  const std::string label_;
  const std::shared_ptr<net::Reply> reply_;
};

}  // namespace

net::Admission Handler::refuse(const ServerRequest& head, ServerAnswer answer,
                               const std::string& why, const std::string& label) const {
  parts_.audit.refused({head.peer, head.method, head.path, answer.status, why}, label,
                       base::monotonic_ns());
  return {std::move(answer), 0};
}

net::Admission Handler::admit(const ServerRequest& head) {
  Route route = route_of(head.path);
  if (route.place == Place::none) {
    constexpr std::string_view kWhy = "there is nothing here";
    return refuse(head, error_answer(404, kWhy), std::string(kWhy));
  }
  if (route.place == Place::caches) {
    const auto role = CacheApi::role_for(route, head.method);
    route.method = role                    ? std::string_view(head.method)
                   : route.archive.empty() ? "GET"
                                           : CacheApi::methods;
    if (role) route.role = *role;
  }
  if (head.method != route.method && !(head.method == "HEAD" && route.method == "GET")) {
    const std::string why = fmt::format("this place takes {}", route.method);
    ServerAnswer answer = error_answer(405, why);
    answer.headers.emplace_back("Allow", std::string(route.method));
    return refuse(head, std::move(answer), why);
  }
  if (route.open) return {{}, 0};
  if (parts_.access.is_open()) {
    const Misled wrong = misled(head, route.place == Place::acknowledge);
    if (wrong.status != 0) return refuse(head, error_answer(wrong.status, wrong.why), wrong.why);
  }
  const Decision decision = parts_.access.decide(head.header("authorization"), head.peer,
                                                 route.role, base::monotonic_ns());
  if (!decision.allowed) return refuse(head, refusal(decision), decision.why, decision.label);
  const bool is_piece = route.place == Place::caches && head.method == "PUT";
  return {{}, is_piece ? cache_piece_in_max : body_bytes_max(route.place)};
}

ServerAnswer Handler::refusal(const Decision& decision) const {
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
  const std::optional<Asker> asker = parts_.access.asker(request.header("authorization"));
  reply = std::make_shared<AuditedReply>(parts_.audit, request, asker ? asker->label : "",
                                         std::move(reply));
  if (route.open) return answer_open(route, request, *reply);
  if (!asker) {
    ServerAnswer late = error_answer(401, "this token was just taken back");
    late.headers.emplace_back("WWW-Authenticate", "Bearer");
    return reply->send(std::move(late));
  }
  if (route.place == Place::ingest) {
    return parts_.intake.offer(
        {asker->tenant, route.job, route.attempt, std::move(request.body), std::move(reply)});
  }
  if (route.place == Place::events) {
    // Who asks for the head alone is not a reader, and would never be let go.
    if (request.method == "HEAD") return reply->send(LiveFeed::head());
    return parts_.feed.add(asker->tenant, asker->token, reply);
  }
  if (route.place == Place::caches) {
    return parts_.caches.offer(route, asker->tenant, std::move(request), std::move(reply));
  }
  const bool taken = parts_.workers.add([this, route, asker, request = std::move(request), reply] {
    reply->send(answer(route, request, *asker));
  });
  if (!taken) reply->send(later_answer(503, "too many questions at once", 1));
}

ServerAnswer Handler::status(const Asker& asker) const {
  CollectorStatus out;
  out.version = options_.version;
  out.engine = options_.engine;
  out.tenant = asker.tenant;
  out.role = asker.role;
  out.demo = options_.demo;
  out.now_ns = base::real_ns();
  out.started_ns = options_.started_ns;
  const fleet::Catalogue all = fleet::catalogue(*parts_.tables.snapshot(asker.tenant));
  out.jobs = all.jobs;
  out.jobs_running = all.jobs_running;
  out.attempts = all.attempts;
  if (asker.tenant == kOpenTenant) {
    const IntakeCounts counts = parts_.intake.counts();
    out.whole = {
        .jobs_in_mind = parts_.jobs.size(), .batches = counts.batches, .records = counts.slots};
  }
  return status_answer(out);
}

ServerAnswer Handler::timeline(const Route& route, const ServerRequest& request,
                               const std::string& tenant) const {
  TimelineQuestion question;
  auto from = number_of(request, "from_ns", INT64_MIN, -timeline::kTimeMax, timeline::kTimeMax);
  auto to = number_of(request, "to_ns", INT64_MIN, -timeline::kTimeMax, timeline::kTimeMax);
  auto slices = number_of(request, "slices", question.slices, 1, timeline::LaneWindow::slices_max);
  const std::string* ranks_text = request.argument("ranks");
  base::Result<std::vector<std::uint32_t>> ranks = std::vector<std::uint32_t>();
  if (ranks_text != nullptr) ranks = parse_ranks(*ranks_text, timeline_ranks_max);
  for (const base::Status& status : {from.status(), to.status(), slices.status(), ranks.status()}) {
    if (!status.ok()) return error_answer(400, status.message());
  }
  if (*from != INT64_MIN) question.from_ns = *from;
  if (*to != INT64_MIN) question.to_ns = *to;
  question.slices = static_cast<std::uint32_t>(*slices);
  question.ranks = std::move(*ranks);
  return job_timeline({parts_.store, parts_.jobs, parts_.lanes}, tenant, route.job, question,
                      base::real_ns());
}

ServerAnswer Handler::answer(const Route& route, const ServerRequest& request,
                             const Asker& asker) const {
  const std::string& tenant = asker.tenant;
  const std::int64_t now_ns = base::real_ns();
  switch (route.place) {
    case Place::status:
      return status(asker);
    case Place::metrics:
      return metrics_answer(parts_.families(tenant, tenant == kOpenTenant),
                            request.header("accept"));
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
      if (answer.status == 200) {  // one that is gone stays so
        const auto document = nlohmann::json::parse(answer.body, nullptr, false);
        const nlohmann::json news = {{"id", route.id}, {"state", document.value("state", "")}};
        parts_.feed.publish(tenant, "regression", news.dump());
      }
      return answer;
    }
    default:
      return fleet_answer(route.place, request, *parts_.tables.snapshot(tenant));
  }
}

}  // namespace headway::collector
