// Attribution, measured from journal bytes to answers. One job: N steps (four records each, every
// tenth with a data wait more), a crash in the middle and a tenth of the steps repeated.
//
//   full_s    read the journals (decode, checks) and attribute the job, once
//   query_s   one more step arrives in a live job: take it in and answer for the whole job
//   window_us the partition of a random window
//   events_per_s, rss_growth_bytes: of the full pass
//
// Prints one JSON line. usage: bench_attribution [--steps N] [--rows]
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "event/record.h"
#include "metrics/report.h"
#include "record/journal_header.h"
#include "record/journal_reader.h"
#include "timeline/live_job.h"

namespace {

using headway::event::EventType;
using headway::event::Record;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kStepNs = 100'000'000;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class JournalMaker {
 public:
  JournalMaker(std::string path, std::uint64_t attempt, std::uint64_t t_ns)
      : path_(std::move(path)), attempt_(attempt), t_(t_ns) {
    put(EventType::mark, HW_MARK_LAUNCHER_START, 0, 0);
    t_ += 2'000'000'000;
  }
  void step(std::int64_t n) {
    put(EventType::begin, HW_PHASE_DATA_WAIT, 0, 0);
    t_ += kStepNs / 50;
    put(EventType::end, HW_PHASE_DATA_WAIT, 0, 0);
    put(EventType::step, 0, n, n * 64);
    t_ += kStepNs;
    put(EventType::step_end, 0, n, n * 64);
  }
  void end(std::uint16_t mark, std::int64_t signal) { put(EventType::mark, mark, signal << 32, 0); }
  [[nodiscard]] std::uint64_t now() const { return t_; }
  [[nodiscard]] std::size_t records() const { return records_.size(); }

  void write() {
    headway::event::HeaderFields header{};
    header.clock_kind = static_cast<std::uint32_t>(headway::event::ClockKind::monotonic_ns);
    header.attempt = attempt_;
    header.world_size = 1;
    header.clock_hz = 1'000'000'000;
    header.slots_max = records_.size();
    std::strcpy(header.job, "bench");
    headway::record::finish_header(header);
    headway::event::LiveFields live{};
    live.cursor = live.limit = records_.size();
    live.closed = 1;
    std::vector<char> head(headway::event::kHeaderBytes, 0);
    std::memcpy(head.data(), &header, sizeof(header));
    std::memcpy(head.data() + headway::event::kLiveOffset, &live, sizeof(live));
    FILE* file = std::fopen(path_.c_str(), "wb");
    HW_CHECK(file != nullptr);
    HW_CHECK(std::fwrite(head.data(), head.size(), 1, file) == 1);
    HW_CHECK(std::fwrite(records_.data(), sizeof(Record), records_.size(), file) ==
             records_.size());
    HW_CHECK(std::fclose(file) == 0);
  }

 private:
  void put(EventType type, std::uint16_t name, std::int64_t a, std::int64_t b) {
    Record r{t_, a, b, name, 0, 0};
    r.commit =
        headway::event::commit_word(headway::event::record_check(r.t, a, b, name, 0, type), type);
    records_.push_back(r);
  }
  std::string path_;
  std::uint64_t attempt_;
  std::uint64_t t_;
  std::vector<Record> records_;
};

headway::event::JobStreams open_job(const std::vector<std::string>& paths) {
  headway::event::JobStreams job;
  job.job = "bench";
  job.names = std::make_shared<headway::event::NameTable>();
  for (const std::string& path : paths) {
    auto open = [path, names = job.names]() -> std::unique_ptr<headway::event::EventSource> {
      auto reader = headway::record::JournalReader::open(path, *names);
      HW_CHECK(reader.ok());
      reader.value()->set_final();
      return std::move(reader).value();
    };
    job.streams.push_back({open()->info(), open});
  }
  return job;
}

std::int64_t rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double live_query_s(const headway::event::JobStreams& job, std::int64_t steps) {
  headway::timeline::LiveJob live("bench", job.names);
  std::int64_t last_ns = 0;
  for (const headway::event::Stream& stream : job.streams) {
    const auto source = stream.open();
    for (auto batch = source->next(); !batch.empty(); batch = source->next()) {
      std::vector<headway::event::Event> alive;
      for (const headway::event::Event& e : batch) {
        const bool ends = e.type == EventType::mark && e.name == HW_MARK_EXIT;
        if (stream.info.attempt == 2 && ends) continue;
        alive.push_back(e);
        last_ns = std::max(last_ns, e.t_ns);
      }
      live.consume(stream.info, alive);
    }
  }
  HW_CHECK(!live.must_reread());
  const headway::event::StreamInfo info = job.streams.back().info;
  std::vector<double> times;
  for (std::int64_t i = 1; i <= 21; ++i) {
    headway::event::Event step;
    step.type = EventType::step_end;
    step.a = steps + i;
    step.b = step.a * 64;
    last_ns += kStepNs;
    step.t_ns = last_ns;
    const auto begin = Clock::now();
    live.consume(info, std::span(&step, 1));
    const auto result = live.snapshot(last_ns);
    HW_CHECK(result.ledger.total().steps > steps);
    times.push_back(seconds_since(begin));
  }
  return median(times);
}

double window_us(const headway::timeline::JobResult& job) {
  std::mt19937_64 rng(7);
  const auto length = static_cast<std::uint64_t>(job.ledger.end_ns() - job.ledger.begin_ns());
  std::vector<double> times;
  std::int64_t sum = 0;
  for (int round = 0; round < 101; ++round) {
    const auto begin = Clock::now();
    for (int i = 0; i < 100; ++i) {
      const auto a = job.ledger.begin_ns() + static_cast<std::int64_t>(rng() % length);
      const auto b = job.ledger.begin_ns() + static_cast<std::int64_t>(rng() % length);
      sum += job.ledger.window(std::min(a, b), std::max(a, b)).sums.total();
    }
    times.push_back(seconds_since(begin) / 100 * 1e6);
  }
  HW_CHECK(sum > 0);
  return median(times);
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t steps = 300'000;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--steps") == 0) steps = std::atoll(argv[i + 1]);
  }
  std::string folder = (std::filesystem::temp_directory_path() / "hw-bench-XXXXXX").string();
  HW_CHECK(mkdtemp(folder.data()) != nullptr);
  std::size_t events = 0;
  std::vector<std::string> paths = {folder + "/1.hwj", folder + "/2.hwj"};
  {
    JournalMaker first(paths[0], 1, 1'000'000'000);
    for (std::int64_t n = 1; n <= steps * 55 / 100; ++n) first.step(n);
    first.end(HW_MARK_EXIT, 9);
    first.write();
    JournalMaker second(paths[1], 2, first.now() + 3'000'000'000);
    for (std::int64_t n = steps * 45 / 100 + 1; n <= steps; ++n) second.step(n);
    second.end(HW_MARK_EXIT, 0);
    second.write();
    events = first.records() + second.records();
  }
  const headway::event::JobStreams job = open_job(paths);
  const std::int64_t rss_before = rss_bytes();
  std::vector<double> times;
  headway::timeline::JobResult result;
  for (int round = 0; round < 5; ++round) {
    const auto begin = Clock::now();
    result = headway::timeline::attribute_job(job, {});
    times.push_back(seconds_since(begin));
  }
  const std::int64_t rss_growth = rss_bytes() - rss_before;
  HW_CHECK(result.attempts.size() == 2 && result.attempts[1].replayed_steps > 0);
  const double full_s = median(times);
  std::printf(
      "{\"steps\":%lld,\"events\":%zu,\"full_s\":%.6f,\"query_s\":%.9f,\"window_us\":%.4f,"
      "\"events_per_s\":%.0f,\"rss_growth_bytes\":%lld}\n",
      static_cast<long long>(steps), events, full_s, live_query_s(job, steps), window_us(result),
      static_cast<double>(events) / full_s, static_cast<long long>(rss_growth));
  std::filesystem::remove_all(folder);
  return 0;
}
