#include "collector/otlp_export.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "fleet/facts_of.h"
#include "metrics/job_state.h"
#include "otlp/encode.h"
#include "otlp/job_spans.h"

namespace headway::collector {
namespace {

constexpr std::int64_t look_ns = 1'000'000'000;

bool is_finished(const timeline::JobResult& job, std::size_t at, bool over) {
  return over || at + 1 < job.attempts.size() ||
         job.attempts[at].outcome != timeline::Outcome::running;
}

std::uint64_t points_of(const std::vector<interchange::Family>& families) {
  std::uint64_t points = 0;
  for (const interchange::Family& family : families) points += family.samples.size();
  return points;
}

}  // namespace

OtlpRounds::OtlpRounds(Jobs& jobs, net::Transport& transport, OtlpOptions options,
                       std::function<std::vector<TenantFamilies>()> metrics, std::uint64_t seed)
    : jobs_(jobs),
      options_(std::move(options)),
      metrics_(std::move(metrics)),
      sender_(transport, options_.endpoint, seed) {}

void OtlpRounds::told(const std::vector<ToldJob>& jobs) {
  const std::lock_guard lock(mutex_);
  for (const ToldJob& job : jobs) {
    if (noted_.size() >= jobs_waiting_max && !noted_.contains({job.tenant, job.job})) {
      ++counts_.jobs_dropped;
      continue;
    }
    noted_.try_emplace({job.tenant, job.job}, INT64_MIN);
  }
}

void OtlpRounds::again(const Key& key, std::int64_t at_ns) {
  const std::lock_guard lock(mutex_);
  if (noted_.size() >= jobs_waiting_max && !noted_.contains(key)) {
    ++counts_.jobs_dropped;
    return;
  }
  noted_[key] = at_ns;
}

std::vector<OtlpRounds::Key> OtlpRounds::due(std::int64_t now_ns, bool last) {
  std::vector<Key> out;
  const std::lock_guard lock(mutex_);
  std::erase_if(noted_, [&](const auto& each) {
    if (!last && each.second > now_ns) return false;
    out.push_back(each.first);
    return true;
  });
  return out;
}

otlp::Source OtlpRounds::source(const std::string& tenant) const {
  return {{{"service.name", "headway"},
           {"service.version", options_.version},
           {"headway.tenant", tenant}},
          options_.version};
}

void OtlpRounds::send_attempts(const Key& key, const JobView& view, Progress& progress, bool over) {
  const otlp::SpanOptions options{key.first, options_.rule};
  const auto facts = fleet::facts_of(view.result, *view.names.names);
  const otlp::JobAccount account{view.result, *view.names.names, facts};
  const std::int64_t since_ns = options_.started_ns - options_.look_back_ns;
  std::vector<otlp::Span> spans;
  const auto send = [&] {
    if (spans.empty()) return;
    sender_.offer(otlp::Signal::traces, otlp::encode_traces(source(key.first), spans),
                  spans.size());
    spans.clear();
  };
  for (std::size_t at = 0; at < facts.size(); ++at) {
    if (facts[at].attempt <= progress.sent || facts[at].attempt > progress.ready) continue;
    if (facts[at].end_ns < since_ns) continue;
    std::ranges::move(otlp::attempt_spans(account, at, options), std::back_inserter(spans));
    if (spans.size() >= spans_in_request_max) send();
  }
  progress.sent = std::max(progress.sent, progress.ready);
  const bool whole = over && !facts.empty() && progress.sent >= facts.back().attempt;
  if (whole && !progress.job_sent && facts.back().end_ns >= since_ns) {
    progress.job_sent = true;
    const auto state = metrics::job_state(view.result, view.alive);
    spans.push_back(otlp::job_span(account, state, options));
  }
  send();
}

void OtlpRounds::look_at_view(const Key& key, const JobView& view, std::int64_t now_ns, bool last) {
  if (progress_.size() >= jobs_known_max && !progress_.contains(key)) {
    // Those that were looked at longest ago are over, or will be told once more.
    const auto oldest = std::ranges::min_element(
        progress_, {}, [](const auto& each) { return each.second.looked_ns; });
    progress_.erase(oldest);
  }
  Progress& progress = progress_[key];
  progress.looked_ns = now_ns;
  const bool over = metrics::is_over(metrics::job_state(view.result, view.alive));
  std::int64_t finished = -1;
  for (std::size_t at = 0; at < view.result.attempts.size(); ++at) {
    if (is_finished(view.result, at, over)) finished = view.result.attempts[at].id;
  }
  const auto settled = [&] {
    return last || now_ns - progress.ready_since_ns >= options_.settle_ns;
  };
  if (finished > progress.ready) {
    if (progress.ready > progress.sent && settled()) send_attempts(key, view, progress, false);
    progress.ready = finished;
    progress.ready_since_ns = now_ns;
  }
  const bool unsent = progress.ready > progress.sent || (over && !progress.job_sent);
  if (unsent && settled()) {
    send_attempts(key, view, progress, over);
  } else if (unsent) {
    again(key, progress.ready_since_ns + options_.settle_ns);
  }
}

void OtlpRounds::look_at(const Key& key, std::int64_t now_ns, std::int64_t real_ns, bool last) {
  // Of a job that runs there is news every other second; that is too often to look.
  const auto known = progress_.find(key);
  if (!last && known != progress_.end() && now_ns < known->second.looked_ns + look_ns) {
    return again(key, known->second.looked_ns + look_ns);
  }
  const auto found = jobs_.view(key.first, key.second, real_ns, [&](const JobView& view) {
    look_at_view(key, view, now_ns, last);
  });
  if (!found.ok()) trouble_ = found.status().message();
}

void OtlpRounds::offer_metrics(std::int64_t real_ns) {
  std::string body;
  std::uint64_t points = 0;
  // Requests one behind the other are one request.
  for (const TenantFamilies& each : metrics_()) {
    body += otlp::encode_metrics(source(each.tenant), each.families, options_.started_ns, real_ns);
    points += points_of(each.families);
  }
  if (points > 0) sender_.offer(otlp::Signal::metrics, std::move(body), points);
}

void OtlpRounds::keep_counts() {
  const std::lock_guard lock(mutex_);
  counts_.sent = sender_.counts();
  counts_.waiting = sender_.waiting();
}

CollectorCounts::Otlp OtlpRounds::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

OtlpRounds::Step OtlpRounds::step(std::int64_t now_ns, std::int64_t real_ns, bool last) {
  for (const Key& key : due(now_ns, last)) look_at(key, now_ns, real_ns, last);
  if (now_ns >= next_metrics_ns_ || last) {
    offer_metrics(real_ns);
    next_metrics_ns_ = now_ns + options_.every_ns;
  }
  otlp::Sender::Round round = sender_.round(now_ns);
  keep_counts();
  Step out{std::min({round.wait_ns, look_ns, next_metrics_ns_ - now_ns}), std::move(round.note)};
  if (out.note.empty()) std::swap(out.note, trouble_);
  return out;
}

void OtlpRounds::give_up() {
  sender_.give_up();
  keep_counts();
}

OtlpExport::OtlpExport(Jobs& jobs, OtlpOptions options,
                       std::function<std::vector<TenantFamilies>()> metrics,
                       std::function<void(const std::string&)> log)
    : transport_({.ca_file = {}, .connect_timeout_s = 5, .stall_timeout_s = 10, .stop = &cancel_}),
      rounds_(jobs, transport_, std::move(options), std::move(metrics),
              static_cast<std::uint64_t>(base::real_ns())),
      log_(std::move(log)),
      thread_([this] { run(); }) {}

OtlpExport::~OtlpExport() {
  stop();
}

void OtlpExport::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void OtlpExport::run() {
  const auto step = [this](bool last) {
    OtlpRounds::Step out = rounds_.step(base::monotonic_ns(), base::real_ns(), last);
    if (!out.note.empty()) log_(out.note);
    return out;
  };
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const OtlpRounds::Step next = step(false);
    lock.lock();
    wake_.wait_for(lock, std::chrono::nanoseconds(next.wait_ns), [this] { return stop_; });
  }
  lock.unlock();
  // A last word, as long as it is taken at once.
  constexpr std::int64_t grace_ns = 3'000'000'000;
  const std::int64_t until_ns = base::monotonic_ns() + grace_ns;
  for (OtlpRounds::Step next = step(true); next.wait_ns == 0 && base::monotonic_ns() < until_ns;) {
    next = step(false);
  }
  rounds_.give_up();
}

}  // namespace headway::collector
