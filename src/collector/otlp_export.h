// Sends the fleet's metrics every so often, and the spans of attempts that have ended, to an
// OpenTelemetry collector (docs/monitoring.md). Whatever becomes of that, taking batches in does
// not wait for it: what is told here is noted, bounded, and looked at by a thread of its own.
//
// An attempt is sent once, when it has been over for a moment, since the journals of its ranks come
// in one by one; a job when all of it is over. What ended well before this collector started is not
// sent: its predecessor has done so, or `headway export --format otlp` does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collector/fact_teller.h"
#include "collector/jobs.h"
#include "collector/metrics_page.h"
#include "interchange/export_families.h"
#include "interchange/shown_names.h"
#include "net/curl_transport.h"
#include "otlp/sender.h"
#include "otlp/span.h"

namespace headway::collector {

struct OtlpOptions {
  otlp::Endpoint endpoint;
  std::int64_t every_ns = 30'000'000'000;   // metrics
  std::int64_t settle_ns = 10'000'000'000;  // for an attempt to be over, before it is sent
  std::int64_t look_back_ns =
      600'000'000'000;          // before the start: attempts that ended since are sent
  std::int64_t started_ns = 0;  // real time
  std::string version;
  interchange::TextRule rule;  // what of each text is told
};

struct TenantFamilies {
  std::string tenant;
  std::vector<interchange::Family> families;
};

// What is sent when; without a thread, a clock or a network of its own. told() from any thread, the
// rest from one.
class OtlpRounds {
 public:
  static constexpr std::size_t jobs_waiting_max = 20'000;
  static constexpr std::size_t jobs_known_max = 100'000;
  static constexpr std::size_t spans_in_request_max = 500;

  OtlpRounds(Jobs& jobs, net::Transport& transport, OtlpOptions options,
             std::function<std::vector<TenantFamilies>()> metrics, std::uint64_t seed);

  void told(const std::vector<ToldJob>& jobs);

  struct Step {
    std::int64_t wait_ns = 0;
    std::string note = {};  // one line for a person, when something has changed
  };
  // `last`: whatever is over is sent now.
  Step step(std::int64_t now_ns, std::int64_t real_ns, bool last = false);
  void give_up();
  // Any thread.
  [[nodiscard]] CollectorCounts::Otlp counts() const;

 private:
  using Key = std::pair<std::string, std::string>;  // tenant, job
  struct Progress {
    std::int64_t sent = -1;   // attempts up to this one
    std::int64_t ready = -1;  // are over up to this one,
    std::int64_t ready_since_ns = 0;
    bool job_sent = false;
    std::int64_t looked_ns = INT64_MIN;
  };
  [[nodiscard]] std::vector<Key> due(std::int64_t now_ns, bool last);
  void again(const Key& key, std::int64_t at_ns);
  void look_at(const Key& key, std::int64_t now_ns, std::int64_t real_ns, bool last);
  void look_at_view(const Key& key, const JobView& view, std::int64_t now_ns, bool last);
  void send_attempts(const Key& key, const JobView& view, Progress& progress, bool over);
  void offer(const std::vector<otlp::Span>& spans);
  void offer_metrics(std::int64_t real_ns);
  void keep_counts();
  [[nodiscard]] otlp::Source source(const std::string& tenant) const;

  Jobs& jobs_;
  const OtlpOptions options_;
  const std::function<std::vector<TenantFamilies>()> metrics_;
  otlp::Sender sender_;
  std::map<Key, Progress> progress_;
  std::int64_t next_metrics_ns_ = INT64_MIN;
  std::string trouble_;  // with a job, to be noted

  mutable std::mutex mutex_;           // for what follows
  std::map<Key, std::int64_t> noted_;  // → when to look
  CollectorCounts::Otlp counts_;
};

class OtlpExport {
 public:
  // `metrics` is asked by the thread of this, and may take a moment.
  OtlpExport(Jobs& jobs, OtlpOptions options, std::function<std::vector<TenantFamilies>()> metrics,
             std::function<void(const std::string&)> log);
  ~OtlpExport();  // stop()
  OtlpExport(const OtlpExport&) = delete;
  OtlpExport& operator=(const OtlpExport&) = delete;

  // Jobs of which there is news. Never waits.
  void told(const std::vector<ToldJob>& jobs) { rounds_.told(jobs); }
  // Sends what it can in a moment; `metrics` is not asked any more then.
  void stop();
  [[nodiscard]] CollectorCounts::Otlp counts() const { return rounds_.counts(); }

 private:
  void run();

  std::atomic<bool> cancel_{false};
  net::CurlTransport transport_;
  OtlpRounds rounds_;
  const std::function<void(const std::string&)> log_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace headway::collector
