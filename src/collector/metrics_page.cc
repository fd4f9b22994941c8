#include "collector/metrics_page.h"

#include <algorithm>
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
  if (counts.store_free_bytes) {
    out.begin("headway_collector_store_free_bytes", FamilyType::gauge, "bytes",
              "Bytes that the store's disk has room for.");
    out.add({}, *counts.store_free_bytes);
  }
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
  const fleet::TableTroubles& left_out = counts.facts_left_out;
  out.begin("headway_collector_left_out_facts", FamilyType::counter, "",
            "What the fleet's account has no room for, or cannot be: each time that it is told.");
  out.add({{"what", "attempts"}}, left_out.attempts_refused);
  out.add({{"what", "values"}}, left_out.values_dropped);
  out.add({{"what", "levers"}}, left_out.levers_dropped);
  out.add({{"what", "hosts"}}, left_out.hosts_dropped);
  out.add({{"what", "days"}}, left_out.slices_dropped);
  out.add({{"what", "numbers"}}, left_out.numbers_clamped);
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

void append_regressions(Families& out, const AlertCounts& alerts) {
  out.begin("headway_fleet_regressions", FamilyType::gauge, "", "Regressions, by state.");
  out.add({{"state", "open"}}, alerts.open);
  out.add({{"state", "acknowledged"}}, alerts.acknowledged);
  out.add({{"state", "gone"}}, alerts.gone);
  out.begin("headway_fleet_open_regressions", FamilyType::gauge, "",
            "Open regressions by what has become slower or more frequent.");
  for (const auto& [component, open] : alerts.components) {
    out.add({{"component", component}}, open.regressions);
  }
  out.begin("headway_fleet_open_regressions_lost_devices", FamilyType::gauge, "",
            "What they cost, as devices that would be free without them.");
  for (const auto& [component, open] : alerts.components) {
    out.add({{"component", component}}, open.device_hours_per_day / 24);
  }
}

void append_webhook(Families& out, const WebhookCounts& webhook) {
  out.begin("headway_webhook_messages", FamilyType::counter, "",
            "Announcements of regressions, by what became of them.");
  out.add({{"outcome", "taken"}}, webhook.sent);
  out.add({{"outcome", "refused"}}, webhook.refused);
  out.add({{"outcome", "given_up"}}, webhook.given_up);
  put(out, "headway_webhook_retries", FamilyType::counter,
      "Announcements that were not taken and are tried again.", webhook.retries);
  put(out, "headway_webhook_waiting_messages", FamilyType::gauge, "Announcements that wait.",
      static_cast<std::uint64_t>(webhook.waiting));
}

// Of so many components, those with the most alerts: failures have as many as there are categories.
void append_sla(Families& out, std::vector<regress::SlaRow> rows) {
  constexpr std::size_t components_max = 50;
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.alerts > b.alerts; });
  if (rows.size() > components_max) rows.resize(components_max);
  out.begin("headway_fleet_time_to_alert_seconds", FamilyType::gauge, "seconds",
            "From the beginning of regressions until so large a share of them was found.");
  for (const regress::SlaRow& row : rows) {
    out.add({{"component", row.component}, {"share", "0.5"}}, row.p50_s);
    out.add({{"component", row.component}, {"share", "0.9"}}, row.p90_s);
  }
  out.begin("headway_fleet_time_to_alert_target_seconds", FamilyType::gauge, "seconds",
            "How soon they should be found.");
  for (const regress::SlaRow& row : rows) {
    out.add({{"component", row.component}}, row.target_s);
  }
  out.begin("headway_fleet_alerts", FamilyType::gauge, "",
            "Regressions that were found, sooner or later than they should be.");
  for (const regress::SlaRow& row : rows) {
    out.add({{"component", row.component}, {"late", "no"}},
            std::uint64_t{row.alerts} - std::uint64_t{row.late});
    out.add({{"component", row.component}, {"late", "yes"}}, std::uint64_t{row.late});
  }
}

void append_collector(Families& out, const CollectorCounts& counts) {
  out.begin("headway_collector_build_info", FamilyType::gauge, "", "What runs here; always 1.");
  out.add({{"version", counts.version}, {"engine", counts.engine}}, std::uint64_t{1});
  out.begin("headway_collector_start_time_seconds", FamilyType::gauge, "seconds",
            "When this collector started, in Unix time.");
  out.add({}, Seconds{counts.started_ns});
  append_intake(out, counts);
  append_server(out, counts);
  append_retention(out, counts.retention);
  if (counts.otlp) append_otlp(out, *counts.otlp);
  append_webhook(out, counts.webhook);
}

}  // namespace

std::vector<interchange::Family> metric_families(const std::optional<CollectorCounts>& counts,
                                                 const AlertCounts& alerts,
                                                 const FleetCounters& fleet) {
  Families out;
  if (counts) append_collector(out, *counts);
  fleet.append_to(out);
  append_regressions(out, alerts);
  append_sla(out, alerts.sla);
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

// Null: there is no room for it.
std::shared_ptr<MetricsBook::Page> MetricsBook::page_of(const std::string& tenant,
                                                        const fleet::Snapshot& beginning,
                                                        std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (const auto found = pages_.find(tenant); found != pages_.end()) return found->second;
  if (pages_.size() >= tenants_max) return nullptr;
  auto page = std::make_shared<Page>();
  page->counters.take(beginning, now_ns);
  pages_.emplace(tenant, page);
  return page;
}

void MetricsBook::begin(const std::string& tenant, const fleet::Snapshot& snapshot,
                        std::int64_t now_ns) {
  (void)page_of(tenant, snapshot, now_ns);
}

std::vector<interchange::Family> MetricsBook::families(const std::string& tenant,
                                                       const fleet::Snapshot& snapshot,
                                                       const std::optional<CollectorCounts>& counts,
                                                       const AlertCounts& alerts,
                                                       std::int64_t now_ns) {
  static const auto nothing = fleet::FleetTable().snapshot();
  const std::shared_ptr<Page> page = page_of(tenant, *nothing, now_ns);
  // One tenant too many is told of the collector alone.
  if (!page) return metric_families(counts, alerts, {});
  const std::lock_guard lock(page->mutex);
  page->counters.take(snapshot, now_ns);
  return metric_families(counts, alerts, page->counters);
}

}  // namespace headway::collector
