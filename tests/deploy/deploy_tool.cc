// For tests/deploy: a page of metrics of a made-up fleet, and a job sent to an OTLP endpoint.
//   deploy_tool metrics openmetrics|prometheus
//   deploy_tool otlp URL FILE.jsonl      prints what became of it, as JSON
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/clock.h"
#include "collector/metrics_page.h"
#include "fleet/facts_of.h"
#include "fleet/test_facts.h"
#include "interchange/job_input.h"
#include "metrics/job_state.h"
#include "net/curl_transport.h"
#include "otlp/encode.h"
#include "otlp/job_spans.h"
#include "otlp/sender.h"
#include "timeline/job.h"

namespace headway {
namespace {

constexpr std::int64_t kNow = (fleet::kDay + 91) * fleet::kDayNs;

std::vector<interchange::Family> made_families() {
  const auto jobs = fleet::made_jobs(7, 400);
  fleet::FleetTable table;
  collector::MetricsBook book;
  collector::CollectorCounts counts;
  counts.version = "1.2.3";
  counts.engine = "sqlite";
  counts.started_ns = kNow - 1'234'567'890;
  counts.store_free_bytes = 5'000'000'000;
  counts.otlp = collector::CollectorCounts::Otlp{};
  collector::AlertCounts alerts;
  alerts.open = 1;
  alerts.components["failures:gpu_ecc"] = {.regressions = 1, .device_hours_per_day = 40};
  std::vector<interchange::Family> families;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (const auto& facts : jobs[i].attempts) table.upsert(jobs[i].name, facts);
    if (i % 200 == 199) families = book.families("t", *table.snapshot(), counts, alerts, kNow);
  }
  return families;
}

int print_metrics(const std::string& format) {
  const auto answer =
      collector::metrics_answer(made_families(), format == "prometheus" ? "text/plain" : "*/*");
  fmt::print("{}", answer.body);
  return 0;
}

// Never more than so many rounds: a test that goes wrong ends.
void send_all(otlp::Sender& sender) {
  constexpr int rounds_max = 200;
  for (int i = 0; i < rounds_max && sender.waiting() > 0; ++i) {
    const auto round = sender.round(base::monotonic_ns());
    if (!round.note.empty()) fmt::print(stderr, "{}\n", round.note);
    std::this_thread::sleep_for(std::chrono::nanoseconds(round.wait_ns));
  }
}

int otlp_send(const std::string& url, const std::string& file) {
  auto job = interchange::load_job(file, {});
  const char* headers = std::getenv("OTEL_EXPORTER_OTLP_HEADERS");
  auto endpoint = otlp::endpoint_of(url, headers == nullptr ? "" : headers);
  if (!job.ok() || !endpoint.ok()) return 2;
  const timeline::JobResult result = timeline::attribute_job(*job, {});
  const auto facts = fleet::facts_of(result, *job->names);
  const otlp::JobAccount account{result, *job->names, facts};
  const otlp::Source source{{{"service.name", "headway"}}, "1.2.3"};
  net::CurlTransport transport(net::CurlOptions{});
  otlp::Sender sender(transport, *endpoint, 1);
  for (std::size_t at = 0; at < facts.size(); ++at) {
    const auto spans = otlp::attempt_spans(account, at, {});
    sender.offer(otlp::Signal::traces, otlp::encode_traces(source, spans), spans.size());
  }
  const otlp::Span whole = otlp::job_span(account, metrics::job_state(result, false), {});
  sender.offer(otlp::Signal::traces, otlp::encode_traces(source, std::span(&whole, 1)), 1);
  const auto families = made_families();
  sender.offer(otlp::Signal::metrics, otlp::encode_metrics(source, families, 5, kNow),
               families.size());
  send_all(sender);
  nlohmann::json out = {{"retries", sender.counts().retries}, {"waiting", sender.waiting()}};
  for (const auto& [name, signal] :
       {std::pair("spans", otlp::Signal::traces), std::pair("points", otlp::Signal::metrics)}) {
    const otlp::SignalCounts& counts = sender.counts().of(signal);
    out[name] = {{"sent", counts.sent},
                 {"rejected", counts.rejected},
                 {"refused", counts.refused},
                 {"dropped", counts.dropped}};
  }
  fmt::print("{}\n", out.dump());
  return 0;
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "metrics")
    return headway::print_metrics(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "otlp") {
    return headway::otlp_send(arguments[1], arguments[2]);
  }
  fmt::print(stderr, "deploy_tool metrics FORMAT | deploy_tool otlp URL FILE\n");
  return 2;
}
