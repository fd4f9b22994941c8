#include "collector/fact_teller.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/clock.h"
#include "base/crc32c.h"
#include "failure/redact.h"
#include "fleet/fact_bytes.h"
#include "fleet/facts_of.h"
#include "metrics/job_state.h"

namespace headway::collector {

using base::Status;

FactTeller::FactTeller(store::Store& store, Jobs& jobs, TellerOptions options,
                       std::function<void(const std::string&)> log,
                       std::function<void(const std::vector<ToldJob>&)> told)
    : store_(store),
      jobs_(jobs),
      options_(options),
      log_(std::move(log)),
      on_told_(std::move(told)),
      thread_([this] { run(); }) {}

FactTeller::~FactTeller() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void FactTeller::flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = ++asked_;
  wake_.notify_all();
  wake_.wait(lock, [&] { return done_ >= wanted || stop_; });
}

void FactTeller::run() {
  std::unique_lock lock(mutex_);
  std::int64_t next_due_ns = INT64_MIN;  // when those that are known are told again
  while (!stop_) {
    const std::uint64_t asked = asked_;
    const bool all = asked > done_;
    lock.unlock();
    const std::int64_t began_ns = base::monotonic_ns();
    const Of which = all ? Of::all : began_ns >= next_due_ns ? Of::due : Of::fresh;
    round(which);
    if (which != Of::fresh) {
      const std::int64_t end_ns = base::monotonic_ns();
      next_due_ns = end_ns + std::clamp((end_ns - began_ns) * (options_.share - 1),
                                        options_.look_ns, options_.pause_max_ns);
    }
    lock.lock();
    done_ = asked;
    wake_.notify_all();
    wake_.wait_for(lock, std::chrono::nanoseconds(options_.look_ns),
                   [&] { return stop_ || asked_ > done_; });
  }
}

Status FactTeller::tell(const Heard& heard, std::vector<store::FactPut>& puts,
                        std::vector<ToldJob>& told) {
  Told& before = told_[{heard.tenant, heard.job}];
  const auto found = jobs_.view(heard.tenant, heard.job, base::real_ns(), [&](const JobView& view) {
    before.alive = view.alive;
    told.push_back({heard.tenant, heard.job,
                    metrics::job_state_name(metrics::job_state(view.result, view.alive))});
    for (fleet::AttemptFacts& facts : fleet::facts_of(view.result, *view.names.names)) {
      for (std::string& text : facts.dimensions) text = failure::redact_line(text);
      store::FactPut put{view.job.key, facts.attempt, view.seq, fleet::to_bytes(facts)};
      const std::uint32_t sum = base::crc32c(put.bytes.data(), put.bytes.size());
      const auto [it, fresh] = before.attempts.try_emplace(facts.attempt, sum);
      if (!fresh && it->second == sum) continue;
      it->second = sum;
      puts.push_back(std::move(put));
    }
  });
  before.changes = heard.changes;
  before.again_ns = base::monotonic_ns() + options_.again_ns;
  // Its batches were forgotten: its facts are as they were.
  if (!found.ok() && found.status().code() == base::Code::not_found) return {};
  // What is damaged of one job is said once.
  if (!found.ok() && found.status().code() != base::Code::corrupt) return found.status();
  std::string trouble = found.status().message();
  if (!trouble.empty() && trouble != before.trouble) {
    log_("job " + heard.job + " of tenant " + heard.tenant + " cannot be told: " + trouble);
  }
  before.trouble = std::move(trouble);
  return {};
}

void FactTeller::round(Of which) {
  std::vector<store::FactPut> puts;
  std::vector<ToldJob> told;
  Status status;
  const auto commit = [&] {
    if (puts.empty() && told.empty()) return;
    Status put = puts.empty() ? Status() : store_.put_facts(puts);
    if (put.ok()) {
      on_told_(told);
    } else {
      // What the store did not take is told again.
      for (const ToldJob& job : told) told_.erase({job.tenant, job.job});
      status = std::move(put);
    }
    puts.clear();
    told.clear();
  };
  std::set<Key> in_mind;
  for (const Heard& heard : jobs_.heard()) {
    in_mind.emplace(heard.tenant, heard.job);
    const auto known = told_.find({heard.tenant, heard.job});
    const bool news = known == told_.end() || known->second.changes != heard.changes;
    const bool goes_on = known != told_.end() && known->second.alive;
    const bool due = known == told_.end() || base::monotonic_ns() >= known->second.again_ns;
    if (which == Of::fresh && known != told_.end()) continue;
    // Of a job that trains something is heard every second: that alone is no news.
    if (which != Of::all && (!(news || goes_on) || !(due || (news && !goes_on)))) continue;
    if (Status one = tell(heard, puts, told); !one.ok()) status = std::move(one);
    if (puts.size() >= options_.commit_facts_max) commit();
  }
  commit();
  std::erase_if(told_, [&](const auto& each) { return !in_mind.contains(each.first); });
  if (!status.ok() && status.message() != last_error_) log_(status.message());
  last_error_ = status.message();
}

}  // namespace headway::collector
