#include "interchange/stream_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "interchange/order.h"

namespace headway::interchange {
namespace {

using base::Status;
using event::Event;
using event::EventType;
using event::NameId;
using event::NameTable;

// A view of events that a job's streams share.
class SharedSource final : public event::EventSource {
 public:
  SharedSource(event::StreamInfo info, std::shared_ptr<const std::vector<Event>> events)
      : info_(std::move(info)), events_(std::move(events)) {}
  std::span<const Event> next() override {
    const std::span<const Event> rest = std::span(*events_).subspan(at_);
    const auto batch = rest.first(std::min(rest.size(), kBatch));
    at_ += batch.size();
    return batch;
  }
  [[nodiscard]] const event::StreamInfo& info() const override { return info_; }
  [[nodiscard]] event::StreamLoss loss() const override { return {}; }

 private:
  static constexpr std::size_t kBatch = 4096;
  event::StreamInfo info_;
  std::shared_ptr<const std::vector<Event>> events_;
  std::size_t at_ = 0;
};

bool carries_reason(const Event& e) {
  return e.type == EventType::mark && (e.name == HW_MARK_FAILURE || e.name == HW_MARK_EXIT);
}

NameId phase_id(std::string_view text, NameTable& names) {
  if (const auto builtin = event::phase_from_name(text)) return *builtin;
  return names.intern(text);
}

Event to_event(const Line& line, NameTable& names) {
  Event e{.t_ns = line.t_ns, .a = line.a, .b = line.b, .lane = line.lane, .type = line.type};
  switch (line.type) {
    case EventType::begin:
    case EventType::end:
      e.name = phase_id(line.name, names);
      break;
    case EventType::restore:
      e.name = line.name.empty() ? NameId{0} : names.intern(line.name);
      break;
    case EventType::attr:
      e.name = names.intern(line.name);
      e.a = names.intern(line.value);
      e.b = 0;
      break;
    case EventType::mark: {
      e.name = line.code;
      e.a = e.b = 0;
      if (!carries_reason(e)) break;
      event::EndInfo end = line.end;
      end.reason = line.name.empty() ? NameId{0} : names.intern(line.name);
      e.a = event::pack_end_a(end);
      e.b = event::pack_end_b(end);
      break;
    }
    default:
      e.name = line.code;
      break;
  }
  return e;
}

NameId moved(NameId id, const NameTable& from, NameTable& to) {
  return id < event::kUserFirst ? id : to.intern(from.text(id));
}

// The same event in another job's table of names.
void rename(Event& e, const NameTable& from, NameTable& to) {
  if (e.type == EventType::begin || e.type == EventType::end || e.type == EventType::restore) {
    e.name = moved(e.name, from, to);
  } else if (e.type == EventType::attr) {
    e.name = moved(e.name, from, to);
    e.a = moved(static_cast<NameId>(e.a), from, to);
  } else if (carries_reason(e)) {
    event::EndInfo end = event::unpack_end(e.a, e.b);
    end.reason = moved(end.reason, from, to);
    e.b = event::pack_end_b(end);
  }
}

// Of two statements about a stream the smaller text counts, whatever the order of the lines.
void keep_smaller(std::string& kept, std::string_view said) {
  if (!said.empty() && (kept.empty() || said < kept)) kept = said;
}

}  // namespace

struct StreamBuilder::Part {
  event::StreamInfo info;
  std::vector<Event> events;
  std::vector<Event> timeless;  // attributes without a time: take that of the first event
};

struct StreamBuilder::Job {
  std::shared_ptr<NameTable> names = std::make_shared<NameTable>();
  std::map<std::pair<std::int64_t, std::uint32_t>, Part> parts;
};

StreamBuilder::StreamBuilder() = default;
StreamBuilder::~StreamBuilder() = default;

StreamBuilder::Job* StreamBuilder::job_of(std::string_view name) {
  auto found = jobs_.find(name);
  if (found == jobs_.end()) {
    if (jobs_.size() >= kJobsMax) return nullptr;
    found = jobs_.emplace(std::string(name), std::make_unique<Job>()).first;
  }
  return found->second.get();
}

StreamBuilder::Part* StreamBuilder::part_of(Job& job, std::int64_t attempt, std::uint32_t rank) {
  const auto key = std::make_pair(attempt, rank);
  auto found = job.parts.find(key);
  if (found == job.parts.end()) {
    if (parts_ >= kStreamsMax) return nullptr;
    ++parts_;
    found = job.parts.emplace(key, Part{}).first;
    found->second.info.attempt = attempt;
    found->second.info.rank = rank;
  }
  return &found->second;
}

base::Status StreamBuilder::add(const Line& line, std::string_view origin) {
  HW_CHECK(line.type != EventType::none);
  if (lines_ >= kLinesMax) {
    return Status::invalid(fmt::format("more than {} lines: split the input by job", kLinesMax));
  }
  // An attribute without an attempt waits under kNoAttempt until the attempts are known.
  const bool floating = line.type == EventType::attr && line.attempt == kNoAttempt;
  const std::int64_t attempt =
      floating || line.attempt != kNoAttempt ? line.attempt : kDefaultAttempt;
  const bool hit = last_part_ != nullptr && last_part_->info.attempt == attempt &&
                   last_part_->info.rank == line.rank && last_part_->info.job == line.job;
  if (!hit) {
    last_job_ = job_of(line.job);
    last_part_ = last_job_ == nullptr ? nullptr : part_of(*last_job_, attempt, line.rank);
    if (last_part_ == nullptr) {
      return Status::invalid(fmt::format(
          "more than {} jobs or {} ranks of attempts: split the input", kJobsMax, kStreamsMax));
    }
    last_part_->info.job = line.job;
    keep_smaller(last_part_->info.origin, origin);
  }
  ++lines_;
  Part& part = *last_part_;
  if (!line.host.empty()) keep_smaller(part.info.host, line.host);
  part.info.world_size = std::max(part.info.world_size, line.world_size);
  const Event e = to_event(line, *last_job_->names);
  (line.has_time ? part.events : part.timeless).push_back(e);
  return {};
}

base::Status StreamBuilder::name_the_nameless(std::string_view default_job,
                                              const std::vector<std::string>& other_jobs) {
  const auto nameless = jobs_.find(std::string_view{});
  if (nameless == jobs_.end()) return {};
  std::vector<std::string_view> known(other_jobs.begin(), other_jobs.end());
  for (const auto& [name, job] : jobs_) {
    if (!name.empty()) known.emplace_back(name);
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  if (known.size() > 1) {
    return Status::invalid(fmt::format(
        "some lines have no \"job\" and the input names {} of them: add \"job\" to every "
        "line",
        known.size()));
  }
  const std::string name(known.empty() ? default_job : known.front());
  const std::unique_ptr<Job> from = std::move(nameless->second);
  jobs_.erase(nameless);
  Job* to = job_of(name);
  HW_CHECK(to != nullptr);
  for (auto& [key, part] : from->parts) {
    Part* target = part_of(*to, key.first, key.second);
    if (target == nullptr) return Status::invalid("too many ranks of attempts: split the input");
    target->info.job = name;
    keep_smaller(target->info.host, part.info.host);
    keep_smaller(target->info.origin, part.info.origin);
    target->info.world_size = std::max(target->info.world_size, part.info.world_size);
    for (auto* events : {&part.events, &part.timeless}) {
      for (Event& e : *events) rename(e, *from->names, *to->names);
    }
    target->events.insert(target->events.end(), part.events.begin(), part.events.end());
    target->timeless.insert(target->timeless.end(), part.timeless.begin(), part.timeless.end());
  }
  return {};
}

event::JobStreams StreamBuilder::make_streams(Job& job) {
  event::JobStreams out;
  out.names = job.names;
  // Attributes without an attempt describe the job: they go to its first stream that has a time.
  std::vector<std::pair<std::int64_t, std::uint32_t>> floating;
  Part* first = nullptr;
  std::optional<std::int64_t> job_first_ns;
  for (auto& [key, part] : job.parts) {
    for (const Event& e : part.events)
      job_first_ns = std::min(job_first_ns.value_or(e.t_ns), e.t_ns);
    if (key.first == kNoAttempt) {
      floating.push_back(key);
    } else if (first == nullptr && !part.events.empty()) {
      first = &part;
    }
  }
  for (const auto& key : floating) {
    auto node = job.parts.extract(key);
    Part& from = node.mapped();
    Part* target = first;
    if (target == nullptr) {
      target = &job.parts[{kDefaultAttempt, key.second}];
      target->info = from.info;
      target->info.attempt = kDefaultAttempt;
    }
    target->events.insert(target->events.end(), from.events.begin(), from.events.end());
    target->timeless.insert(target->timeless.end(), from.timeless.begin(), from.timeless.end());
  }
  for (auto& [key, part] : job.parts) {
    const auto earliest =
        std::min_element(part.events.begin(), part.events.end(),
                         [](const Event& x, const Event& y) { return x.t_ns < y.t_ns; });
    const std::int64_t t_ns =
        earliest != part.events.end() ? earliest->t_ns : job_first_ns.value_or(0);
    for (Event& e : part.timeless) {
      e.t_ns = t_ns;
      part.events.push_back(e);
    }
    out.duplicates_dropped += put_in_order(part.events, *job.names);
    part.events.shrink_to_fit();
    auto events = std::make_shared<const std::vector<Event>>(std::move(part.events));
    const event::StreamInfo& info = part.info;
    out.streams.push_back({info, [info, events]() -> std::unique_ptr<event::EventSource> {
                             return std::make_unique<SharedSource>(info, events);
                           }});
    out.job = info.job;
  }
  return out;
}

base::Result<std::vector<event::JobStreams>> StreamBuilder::finish(
    std::string_view default_job, const std::vector<std::string>& other_jobs) {
  HW_CHECK(!default_job.empty());
  if (Status status = name_the_nameless(default_job, other_jobs); !status.ok()) return status;
  std::vector<event::JobStreams> out;
  for (auto& [name, job] : jobs_) {
    out.push_back(make_streams(*job));
    out.back().job = name;
  }
  jobs_.clear();
  last_job_ = nullptr;
  last_part_ = nullptr;
  return out;
}

}  // namespace headway::interchange
