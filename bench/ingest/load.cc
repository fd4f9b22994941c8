// A fleet that reports to a collector over HTTP, as fast as it is taken or once every while, and
// asks what a page asks meanwhile. Says what it saw as one line of JSON.
//
//   load_fleet send --port N [shape] [--slots N] [--every-ms N] [--ask PATH]… [--asks-per-s X]
//   load_fleet journals DIR [shape]     the same journals, as files
//   load_fleet rows FILE… [shape]       the same records, as rows for PostgreSQL's COPY
//   shape: --jobs --ranks --machine-ranks --steps --step-ms --begin-ns --seed --prefix
//
// Without --every-ms all batches are made first and then sent one after the other by each machine.
// A time is from the moment at which a batch was due until its answer was read, so a collector that
// stalls is charged for all that it made late. `lag` is how late the generator itself came to send:
// small, or the figures are its own.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "client.h"
#include "fleet.h"
#include "samples.h"

namespace headway::bench {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t patience_ns = 90'000 * kMs;  // without one answer

struct Options {
  Shape shape;
  std::uint16_t port = 0;
  std::string token;
  std::uint32_t slots = 512;  // of a journal in a batch
  std::int64_t every_ns = 0;  // 0: as fast as it goes
  std::vector<std::string> ask;
  double asks_per_s = 10;  // of each
  std::vector<std::string> words;
};

std::int64_t now_ns() {
  return base::clock_ns(CLOCK_MONOTONIC);
}

double processor_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Totals {
  std::uint64_t events = 0, batches = 0, bytes = 0;  // that were taken
  std::uint64_t later = 0, failures = 0, gaps = 0, refused = 0;
  std::string first_refusal;
  Samples times, lag;
  std::vector<std::int64_t> worst_ns;  // by the second in which it was due

  void took(std::int64_t due_ns, std::int64_t ns) {
    times.add(ns);
    const auto second = static_cast<std::size_t>((due_ns - began_ns) / (1000 * kMs));
    if (worst_ns.size() <= second) worst_ns.resize(second + 1);
    worst_ns[second] = std::max(worst_ns[second], ns);
  }
  std::int64_t began_ns = 0;
};

// Something with a connection that does something at a time of its own.
class Actor {
 public:
  explicit Actor(Client client) : client_(std::move(client)) {}
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  // When it wants to send again; none: it waits for an answer, or is done.
  std::int64_t due_ns = 0;
  bool done = false;

  virtual void fire(std::int64_t now) = 0;
  virtual void answered(const Answer& answer, std::int64_t now) = 0;
  Client& client() { return client_; }

 protected:
  Client client_;
};

class Sender final : public Actor {
 public:
  Sender(Client client, const Options& options, Totals& totals, std::uint32_t index)
      : Actor(std::move(client)),
        options_(options),
        totals_(totals),
        machine_(options.shape, index),
        jitter_(options.shape.seed + index) {
    if (options.every_ns > 0) return;
    while (!machine_.done()) make(options.shape.steps);
  }

  void fire(std::int64_t now) override {
    if (!began_ns_) began_ns_ = due_ns;
    if (ready_.empty()) {
      const std::int64_t step =
          (base::real_ns() - options_.shape.begin_ns) / options_.shape.step_ns;
      make(std::min(step, options_.shape.steps));
      if (ready_.empty()) {
        due_ns += options_.every_ns;
        return;
      }
    }
    if (!again_) totals_.lag.add(now - std::max(due_ns, free_ns_));
    const Made& made = ready_.front();
    std::string head = fmt::format(
        "POST /api/v1/ingest/{}/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n{}\r\n",
        machine_.job(), kAttempt, made.bytes.size(),
        options_.token.empty() ? "" : "Authorization: Bearer " + options_.token + "\r\n");
    began_ns_ = again_ ? began_ns_ : due_ns;
    due_ns = INT64_MAX;
    if (!client_.send(std::move(head), made.bytes)) answered({}, now);
  }

  void answered(const Answer& answer, std::int64_t now) override {
    const Made& made = ready_.front();
    free_ns_ = now;
    again_ = answer.status != 200;
    switch (answer.status) {
      case 200:
        totals_.took(*began_ns_, now - *began_ns_);
        ++totals_.batches;
        totals_.events += made.events;
        totals_.bytes += made.bytes.size();
        ready_.pop_front();
        done = ready_.empty() && machine_.done();
        due_ns = options_.every_ns == 0 ? now : *began_ns_ + options_.every_ns;
        return;
      case 0:
        ++totals_.failures;
        due_ns = now + 100 * kMs + static_cast<std::int64_t>(jitter_() % (400 * kMs));
        return;
      case 429:
      case 503:
        ++totals_.later;
        due_ns = now + answer.retry_after_s * 1000 * kMs +
                 static_cast<std::int64_t>(jitter_() % (500 * kMs));
        return;
      default:
        if (totals_.gaps + totals_.refused == 0) {
          totals_.first_refusal = fmt::format("{} {}", answer.status, answer.body);
        }
        ++(answer.status == 409 ? totals_.gaps : totals_.refused);
        done = true;
    }
  }

 private:
  struct Made {
    std::vector<std::byte> bytes;
    std::uint64_t events;
  };
  void make(std::int64_t step) {
    auto bytes = machine_.next_batch(step, options_.slots);
    if (!bytes.empty()) ready_.push_back({std::move(bytes), machine_.slots()});
  }
  const Options& options_;
  Totals& totals_;
  Machine machine_;
  std::deque<Made> ready_;
  std::optional<std::int64_t> began_ns_;  // when what is under way was due
  std::int64_t free_ns_ = 0;              // the last answer was there
  bool again_ = false;
  std::mt19937_64 jitter_;
};

// What a page asks. "%" in the path is the number of a job, each in turn.
class Asker final : public Actor {
 public:
  Asker(Client client, const Options& options, std::string path)
      : Actor(std::move(client)), options_(options), path_(std::move(path)) {}

  void fire(std::int64_t now) override {
    std::string path = path_;
    if (const std::size_t at = path.find('%'); at != std::string::npos) {
      path.replace(at, 1, options_.shape.job_name(asked_ % options_.shape.jobs));
    }
    ++asked_;
    began_ns_ = due_ns;
    due_ns = INT64_MAX;
    std::string head = fmt::format(
        "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n", path,
        options_.token.empty() ? "" : "Authorization: Bearer " + options_.token + "\r\n");
    if (!client_.send(std::move(head), {})) answered({}, now);
  }
  void answered(const Answer& answer, std::int64_t now) override {
    if (answer.status == 200) {
      times_.add(now - began_ns_);
    } else {
      ++errors_;
    }
    due_ns = std::max(now, began_ns_ + static_cast<std::int64_t>(1e9 / options_.asks_per_s));
  }
  std::string json() {
    return fmt::format(R"("{}":{{"errors":{},{}}})", path_, errors_, times_.json());
  }

 private:
  const Options& options_;
  const std::string path_;
  std::uint32_t asked_ = 0;
  std::uint64_t errors_ = 0;
  std::int64_t began_ns_ = 0;
  Samples times_;
};

class Loop {
 public:
  Loop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) { HW_CHECK(epoll_.valid()); }

  [[nodiscard]] int epoll() const { return epoll_.get(); }
  [[nodiscard]] std::uint64_t next_tag() const { return actors_.size(); }
  void add(Actor& actor) {
    actors_.push_back(&actor);
    schedule(actors_.size() - 1);
  }
  // Until `stop` says so, or nobody answers any more; false.
  bool run(const std::function<bool()>& stop) {
    std::int64_t heard_ns = now_ns();
    std::array<epoll_event, 256> events;
    while (!stop()) {
      std::int64_t now = now_ns();
      if (now - heard_ns > patience_ns) return false;
      while (!due_.empty() && due_.top().first <= now) {
        const std::size_t index = due_.top().second;
        due_.pop();
        Actor& actor = *actors_[index];
        if (actor.done || actor.client().busy() || actor.due_ns > now) continue;
        actor.fire(now);
        schedule(index);
      }
      const std::int64_t wait_ns = due_.empty() ? 50 * kMs : due_.top().first - now_ns();
      const timespec wait{0, std::clamp<std::int64_t>(wait_ns, 0, 50 * kMs)};
      const int count = ::epoll_pwait2(epoll_.get(), events.data(), events.size(), &wait, nullptr);
      now = now_ns();
      for (int i = 0; i < count; ++i) {
        const std::size_t index = events[static_cast<std::size_t>(i)].data.u64;
        Actor& actor = *actors_[index];
        if (const auto answer = actor.client().ready()) {
          if (answer->status != 0) heard_ns = now;
          actor.answered(*answer, now);
          schedule(index);
        }
      }
    }
    return true;
  }

 private:
  void schedule(std::size_t index) {
    const Actor& actor = *actors_[index];
    if (!actor.done && actor.due_ns != INT64_MAX) due_.emplace(actor.due_ns, index);
  }
  using Due = std::pair<std::int64_t, std::size_t>;
  base::UniqueFd epoll_;
  std::vector<Actor*> actors_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

int send(const Options& options) {
  Loop loop;
  Totals totals;
  std::deque<Sender> senders;
  std::deque<Asker> askers;
  const std::uint32_t machines = options.shape.machines();
  std::uint64_t tag = 0;
  for (std::uint32_t i = 0; i < machines; ++i) {
    senders.emplace_back(Client(loop.epoll(), options.port, tag++), options, totals, i);
  }
  for (const std::string& path : options.ask) {
    askers.emplace_back(Client(loop.epoll(), options.port, tag++), options, path);
  }
  const std::int64_t began_ns = now_ns();
  totals.began_ns = began_ns;
  const double began_s = processor_s();
  for (std::uint32_t i = 0; i < machines; ++i) {
    senders[i].due_ns = began_ns + options.every_ns * i / machines;
    loop.add(senders[i]);
  }
  for (Asker& asker : askers) {
    asker.due_ns = began_ns + 2000 * kMs;
    loop.add(asker);
  }
  const bool over = loop.run([&] { return std::ranges::all_of(senders, &Sender::done); });
  const double seconds = static_cast<double>(now_ns() - began_ns) * 1e-9;
  std::string asked;
  for (Asker& asker : askers) asked += (asked.empty() ? "" : ",") + asker.json();
  std::string worst;
  for (const std::int64_t ns : totals.worst_ns) {
    worst += fmt::format("{}{:.1f}", worst.empty() ? "" : ",", static_cast<double>(ns) * 1e-6);
  }
  for (char& c : totals.first_refusal) c = c == '"' || c == '\\' || c < ' ' ? '\'' : c;
  fmt::print(R"({{"events":{},"batches":{},"bytes":{},"seconds":{:.6f},"cpu_s":{:.3f},"later":{},)"
             R"("failures":{},"gaps":{},"refused":{},"first_refusal":"{}",)"
             R"("ingest":{{{}}},"lag":{{{}}},"asked":{{{}}},"worst_ms":[{}]}})"
             "\n",
             totals.events, totals.batches, totals.bytes, seconds, processor_s() - began_s,
             totals.later, totals.failures, totals.gaps, totals.refused, totals.first_refusal,
             totals.times.json(), totals.lag.json(), asked, worst);
  return over && totals.gaps + totals.refused == 0 ? 0 : 1;
}

Options parse(int argc, char** argv) {
  Options options;
  Shape& shape = options.shape;
  const auto number = [](const char* text) { return std::atoll(text); };
  using Set = std::function<void(const char*)>;
  const std::map<std::string, Set> known = {
      {"--port", [&](auto* t) { options.port = static_cast<std::uint16_t>(number(t)); }},
      {"--token", [&](auto* t) { options.token = t; }},
      {"--slots", [&](auto* t) { options.slots = static_cast<std::uint32_t>(number(t)); }},
      {"--every-ms", [&](auto* t) { options.every_ns = number(t) * kMs; }},
      {"--ask", [&](auto* t) { options.ask.emplace_back(t); }},
      {"--asks-per-s", [&](auto* t) { options.asks_per_s = std::atof(t); }},
      {"--jobs", [&](auto* t) { shape.jobs = static_cast<std::uint32_t>(number(t)); }},
      {"--ranks", [&](auto* t) { shape.ranks = static_cast<std::uint32_t>(number(t)); }},
      {"--machine-ranks",
       [&](auto* t) { shape.machine_ranks = static_cast<std::uint32_t>(number(t)); }},
      {"--steps", [&](auto* t) { shape.steps = number(t); }},
      {"--step-ms", [&](auto* t) { shape.step_ns = number(t) * kMs; }},
      {"--begin-ns", [&](auto* t) { shape.begin_ns = number(t); }},
      {"--seed", [&](auto* t) { shape.seed = static_cast<std::uint64_t>(number(t)); }},
      {"--prefix", [&](auto* t) { shape.prefix = t; }},
  };
  for (int i = 1; i < argc; ++i) {
    const auto found = known.find(argv[i]);
    if (found == known.end()) {
      options.words.emplace_back(argv[i]);
      continue;
    }
    HW_CHECK(i + 1 < argc);
    found->second(argv[++i]);
  }
  return options;
}

int run(const Options& options) {
  HW_CHECK(!options.words.empty());
  const std::string& verb = options.words.front();
  if (verb == "send") return send(options);
  HW_CHECK(options.words.size() >= 2);
  if (verb == "journals") {
    write_journals(options.shape, options.words[1]);
    return 0;
  }
  HW_CHECK(verb == "rows");
  const std::uint64_t rows =
      write_rows(options.shape, {options.words.begin() + 1, options.words.end()});
  fmt::print("{{\"rows\":{}}}\n", rows);
  return 0;
}

}  // namespace
}  // namespace headway::bench

int main(int argc, char** argv) {
  return headway::bench::run(headway::bench::parse(argc, argv));
}
