#include "collector/intake.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "collector/answers.h"

namespace headway::collector {

using base::Status;
using ingest::Verdict;

// A batch that can be read.
struct Intake::Item {
  Offered offered;
  ingest::Batch batch;
  std::vector<event::Record> slots;
};

namespace {

constexpr int busy_s = 1;           // until a queue is shorter
constexpr int store_trouble_s = 5;  // until a disk has room
constexpr int newer_s = 60;         // until this collector is a newer one
constexpr int damage_s = 60;        // until somebody has mended it
// More in one commit, and it is the store that is damaged, not some jobs.
constexpr std::size_t damaged_jobs_max = 16;
constexpr std::size_t damaged_remembered_max = 10'000;

std::span<const std::byte> bytes_of(const std::string& body) {
  return std::as_bytes(std::span(body));
}

void add(IntakeLoad& load, const Offered& offered) {
  ++load.batches;
  load.bytes += offered.body.size();
  load.unpacked_bytes += offered.unpacked_bytes;
}

void take_away(IntakeLoad& load, const Offered& offered) {
  --load.batches;
  load.bytes -= offered.body.size();
  load.unpacked_bytes -= offered.unpacked_bytes;
}

// What this collector is too old for is not wrong: a newer one will read it.
net::ServerAnswer refusal(const Status& status) {
  if (status.code() == base::Code::unsupported) {
    return later_answer(503, status.message(), newer_s);
  }
  return error_answer(400, status.message());
}

}  // namespace

Intake::Intake(store::Store& store, Jobs& jobs, IntakeOptions options,
               std::function<void(const std::string&)> log)
    : store_(store), jobs_(jobs), options_(options), log_(std::move(log)), thread_([this] {
        run();
      }) {}

Intake::~Intake() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Intake::offer(Offered offered) {
  offered.unpacked_bytes = ingest::unpacked_bytes_told(bytes_of(offered.body));
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < options_.waiting_max && !stop_) {
      add(load_, offered);
      waiting_.push_back(std::move(offered));
      ++offered_;
      // One that waits for a few more is left alone until it has them.
      if (waiting_.size() == 1 || is_full(load_)) wake_.notify_one();
      return;
    }
    ++counts_.turned_away;
  }
  offered.reply->send(later_answer(503, "the collector is busy", busy_s));
}

void Intake::drain() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = offered_;
  idle_.wait(lock, [&] { return answered_ >= wanted; });
}

IntakeCounts Intake::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::size_t Intake::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

bool Intake::is_full(const IntakeLoad& load) const {
  return load.batches >= options_.commit_batches_max || load.bytes >= options_.commit_bytes_max ||
         load.unpacked_bytes >= options_.commit_unpacked_bytes_max;
}

// A batch that comes alone is not held up: only what comes soon after a commit is.
std::vector<Offered> Intake::next() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
  wake_.wait_until(lock, next_commit_, [&] { return stop_ || is_full(load_); });
  next_commit_ =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(options_.commit_gap_ns);
  std::vector<Offered> out;
  IntakeLoad taken;
  while (!waiting_.empty() && !is_full(taken)) {
    add(taken, waiting_.front());
    take_away(load_, waiting_.front());
    out.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return out;
}

void Intake::run() {
  for (std::vector<Offered> offered = next(); !offered.empty(); offered = next()) {
    const std::size_t count = offered.size();
    keep(std::move(offered));
    const std::lock_guard lock(mutex_);
    answered_ += count;
    idle_.notify_all();
  }
}

std::vector<Intake::Item> Intake::readable(std::vector<Offered> offered) {
  std::vector<Item> items;
  for (Offered& each : offered) {
    Item item;
    item.offered = std::move(each);
    const std::string what =
        fmt::format("batch of {} attempt {}", item.offered.job, item.offered.attempt);
    auto batch = ingest::Batch::parse(bytes_of(item.offered.body), what);
    Status status = batch.status();
    if (batch.ok()) {
      item.batch = std::move(*batch);
      status = ingest::unpack_slots(item.batch.packed, item.batch.header.slots, item.slots, what);
    }
    if (status.ok()) {
      items.push_back(std::move(item));
      continue;
    }
    {
      const std::lock_guard lock(mutex_);
      ++counts_.refused;
    }
    item.offered.reply->send(refusal(status));
  }
  return items;
}

void Intake::keep(std::vector<Offered> offered) {
  std::vector<Item> items = readable(std::move(offered));
  std::map<Key, OfJob> by_job;
  for (Item& item : items) by_job[{item.offered.tenant, item.offered.job}].push_back(&item);
  std::vector<OfJob> whole, damaged;
  for (auto& [key, job] : by_job) {
    (damaged_.contains(key) ? damaged : whole).push_back(std::move(job));
  }
  const std::int64_t now_ns = base::real_ns();
  damaged_in_a_commit_ = 0;
  if (!whole.empty()) commit(whole, now_ns);
  for (const OfJob& job : damaged) commit({&job, 1}, now_ns);
}

// Damage that is some job's alone is found by halves.
void Intake::commit(std::span<const OfJob> jobs, std::int64_t now_ns) {
  std::vector<store::Append> appends;
  std::vector<Item*> items;
  for (const OfJob& job : jobs) {
    for (Item* item : job) {
      items.push_back(item);
      appends.push_back({item->offered.tenant, item->offered.job, item->offered.attempt,
                         &item->batch, bytes_of(item->offered.body), now_ns});
    }
  }
  auto appended = store_.append(appends);
  if (!appended.ok()) {
    const bool is_damage = appended.status().code() == base::Code::corrupt;
    if (!is_damage || damaged_in_a_commit_ >= damaged_jobs_max) {
      return refuse_all(jobs, appended.status());
    }
    if (jobs.size() == 1) return refuse_damaged(jobs.front(), appended.status());
    commit(jobs.first(jobs.size() / 2), now_ns);
    return commit(jobs.subspan(jobs.size() / 2), now_ns);
  }
  if (!last_error_.empty()) log_("the store takes batches again");
  last_error_.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    jobs_.took(appends[i], (*appended)[i], (*appended)[i].made_job, items[i]->slots);
    answer(*items[i], (*appended)[i]);
  }
  for (const OfJob& job : jobs) {
    const Offered& first = job.front()->offered;
    if (damaged_.erase({first.tenant, first.job}) > 0) {
      log_(fmt::format("job {} of tenant {} is taken in again", first.job, first.tenant));
    }
  }
  const std::lock_guard lock(mutex_);
  ++counts_.commits;
}

void Intake::refuse_all(std::span<const OfJob> jobs, const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    ++counts_.store_errors;
  }
  if (why.message() != last_error_) log_(why.message());
  last_error_ = why.message();
  for (const OfJob& job : jobs) {
    for (Item* item : job) {
      item->offered.reply->send(
          later_answer(503, "the collector cannot write at the moment", store_trouble_s));
    }
  }
}

// Its sender keeps what it has, and comes again: somebody may mend the store meanwhile.
void Intake::refuse_damaged(const OfJob& job, const Status& why) {
  ++damaged_in_a_commit_;
  {
    const std::lock_guard lock(mutex_);
    ++counts_.store_errors;
  }
  const Offered& first = job.front()->offered;
  if (damaged_.size() >= damaged_remembered_max) damaged_.clear();
  std::string& told = damaged_[{first.tenant, first.job}];
  if (told != why.message()) {
    told = why.message();
    log_(fmt::format("job {} of tenant {} is not taken in, others are: {}", first.job, first.tenant,
                     told));
  }
  for (Item* item : job) {
    item->offered.reply->send(later_answer(
        503, fmt::format("what the collector has of job {} is damaged", first.job), damage_s));
  }
}

void Intake::answer(const Item& item, const store::Appended& appended) {
  {
    const std::lock_guard lock(mutex_);
    switch (appended.judgement.verdict) {
      case Verdict::news:
        ++counts_.batches;
        counts_.slots += item.slots.size();
        counts_.bytes += item.offered.body.size();
        break;
      case Verdict::duplicate:
        ++counts_.duplicates;
        break;
      case Verdict::gap:
        ++counts_.gaps;
        break;
      case Verdict::nonsense:
        ++counts_.refused;
        break;
    }
  }
  if (appended.judgement.verdict == Verdict::nonsense) {
    item.offered.reply->send(error_answer(400, appended.judgement.why));
    return;
  }
  std::string body = "{\"journals\":[";
  for (const auto& [id, next] : appended.next) {
    fmt::format_to(std::back_inserter(body), "{}{{\"id\":\"{}\",\"next\":{}}}",
                   body.ends_with('[') ? "" : ",", base::hex(id), next);
  }
  body += "]}\n";
  const bool gap = appended.judgement.verdict == Verdict::gap;
  item.offered.reply->send(json_answer(gap ? 409 : 200, std::move(body)));
}

}  // namespace headway::collector
