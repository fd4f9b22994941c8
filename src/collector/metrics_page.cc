#include "collector/metrics_page.h"

#include <utility>

namespace headway::collector {

using interchange::Families;
using interchange::FamilyType;
using interchange::Seconds;

namespace {

void put(Families& out, std::string_view name, FamilyType type, std::string_view help,
         std::uint64_t value) {
  out.begin(std::string(name), type, "", help);
  out.add({}, value);
}

void append_intake(Families& out, const CollectorCounts& counts) {
  const IntakeCounts& intake = counts.intake;
  out.begin("headway_collector_batches", FamilyType::counter, "",
            "Batches that were offered: kept, known already, with a gap before them, refused for "
            "good, told to come later.");
  out.add({{"outcome", "kept"}}, intake.batches);
  out.add({{"outcome", "duplicate"}}, intake.duplicates);
  out.add({{"outcome", "gap"}}, intake.gaps);
  out.add({{"outcome", "refused"}}, intake.refused);
  out.add({{"outcome", "turned_away"}}, intake.turned_away);
  put(out, "headway_collector_records", FamilyType::counter, "Records in batches that were kept.",
      intake.slots);
  out.begin("headway_collector_kept_bytes", FamilyType::counter, "bytes",
            "Bytes of batches that were kept.");
  out.add({}, intake.bytes);
  put(out, "headway_collector_commits", FamilyType::counter, "Commits of the store.",
      intake.commits);
  put(out, "headway_collector_store_errors", FamilyType::counter,
      "Commits that the store did not manage; senders come again.", intake.store_errors);
  put(out, "headway_collector_waiting_batches", FamilyType::gauge,
      "Batches that wait for a commit.", counts.batches_waiting);
  put(out, "headway_collector_waiting_batches_limit", FamilyType::gauge,
      "So many may wait before senders are told to come later.", counts.batches_waiting_max);
}

void append_server(Families& out, const CollectorCounts& counts) {
  const net::ServerCounts& server = counts.server;
  put(out, "headway_collector_connections", FamilyType::gauge, "Connections that are open.",
      server.connections);
  put(out, "headway_collector_accepted_connections", FamilyType::counter,
      "Connections that were accepted.", server.accepted);
  put(out, "headway_collector_requests", FamilyType::counter, "Requests that were answered.",
      server.requests);
  out.begin("headway_collector_cut_off_requests", FamilyType::counter, "",
            "Clients that were cut off: over a limit, too slow, or not speaking HTTP.");
  out.add({{"why", "limit"}}, server.turned_away);
  out.add({{"why", "time"}}, server.timed_out);
  out.add({{"why", "malformed"}}, server.malformed);
  put(out, "headway_collector_jobs", FamilyType::gauge, "Jobs that the collector has in mind.",
      counts.jobs);
  put(out, "headway_collector_waiting_questions", FamilyType::gauge,
      "Questions that wait for a worker.", counts.questions_waiting);
  put(out, "headway_collector_live_readers", FamilyType::gauge,
      "Pages that are told of changes as they happen.", counts.readers);
  put(out, "headway_collector_unreadable_facts", FamilyType::counter,
      "Rows of the store that could not be read.", counts.facts_unreadable);
}

void append_retention(Families& out, const RetentionCounts& retention) {
  put(out, "headway_collector_forgotten_jobs", FamilyType::counter,
      "Jobs whose records were forgotten for their age.", retention.jobs);
  put(out, "headway_collector_forgotten_facts", FamilyType::counter,
      "Attempts whose facts were forgotten for their age.", retention.facts);
  put(out, "headway_collector_retention_errors", FamilyType::counter,
      "Times that nothing could be forgotten; it is tried again.", retention.errors);
}

void append_otlp(Families& out, const CollectorCounts::Otlp& otlp) {
  out.begin("headway_otlp_items", FamilyType::counter, "",
            "Spans and data points on their way to an OpenTelemetry collector, by what became of "
            "them.");
  for (const auto& [signal, name] :
       {std::pair(otlp::Signal::traces, "spans"), std::pair(otlp::Signal::metrics, "points")}) {
    const otlp::SignalCounts& of = otlp.sent.of(signal);
    out.add({{"signal", name}, {"outcome", "sent"}}, of.sent);
    out.add({{"signal", name}, {"outcome", "rejected"}}, of.rejected);
    out.add({{"signal", name}, {"outcome", "refused"}}, of.refused);
    out.add({{"signal", name}, {"outcome", "dropped"}}, of.dropped);
  }
  put(out, "headway_otlp_retries", FamilyType::counter, "Requests that have to be sent again.",
      otlp.sent.retries);
  put(out, "headway_otlp_dropped_jobs", FamilyType::counter,
      "Jobs with news that found no room to be noted.", otlp.jobs_dropped);
  put(out, "headway_otlp_waiting_requests", FamilyType::gauge, "Requests that wait.", otlp.waiting);
}

}  // namespace

std::vector<interchange::Family> metric_families(const CollectorCounts& counts,
                                                 const AlertCounts& alerts,
                                                 const FleetCounters& fleet) {
  Families out;
  out.begin("headway_collector_build_info", FamilyType::gauge, "", "What runs here; always 1.");
  out.add({{"version", counts.version}, {"engine", counts.engine}}, std::uint64_t{1});
  out.begin("headway_collector_start_time_seconds", FamilyType::gauge, "seconds",
            "When this collector started, in Unix time.");
  out.add({}, Seconds{counts.started_ns});
  append_intake(out, counts);
  append_server(out, counts);
  append_retention(out, counts.retention);
  if (counts.otlp) append_otlp(out, *counts.otlp);
  fleet.append_to(out);
  out.begin("headway_fleet_regressions", FamilyType::gauge, "", "Regressions, by state.");
  out.add({{"state", "open"}}, alerts.open);
  out.add({{"state", "acknowledged"}}, alerts.acknowledged);
  out.add({{"state", "gone"}}, alerts.gone);
  return out.take();
}

net::ServerAnswer metrics_answer(const std::vector<interchange::Family>& families,
                                 std::string_view accept) {
  // Prometheus asks for both and prefers OpenMetrics; a tool that names only text/plain is older.
  const bool older = accept.find("text/plain") != std::string_view::npos &&
                     accept.find("application/openmetrics-text") == std::string_view::npos;
  net::ServerAnswer answer;
  answer.content_type = older ? interchange::kPrometheusType : interchange::kOpenMetricsType;
  answer.body = interchange::to_text(
      families, older ? interchange::TextFormat::prometheus : interchange::TextFormat::openmetrics);
  return answer;
}

std::vector<interchange::Family> MetricsBook::families(const std::string& tenant,
                                                       const fleet::Snapshot& snapshot,
                                                       const CollectorCounts& counts,
                                                       const AlertCounts& alerts,
                                                       std::int64_t now_ns) {
  std::shared_ptr<Page> page;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pages_.find(tenant);
    if (found != pages_.end()) page = found->second;
    // One tenant too many is told of the collector alone.
    if (!page && pages_.size() >= tenants_max) return metric_families(counts, alerts, {});
    if (!page) page = pages_[tenant] = std::make_shared<Page>();
  }
  const std::lock_guard lock(page->mutex);
  page->counters.take(snapshot, now_ns);
  return metric_families(counts, alerts, page->counters);
}

}  // namespace headway::collector
