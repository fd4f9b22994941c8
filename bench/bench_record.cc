// What one record costs the trainer: the median over many batches of 1000 calls, each batch small
// enough that the keeper has made room before the next. Prints one JSON line a measurement.
//
//   bench_record [batches]
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "headway/headway.h"
#include "record/journal_reader.h"

namespace {

constexpr int kPerBatch = 1000;
constexpr int kBatchesPerPause = 20;

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point from) {
  return std::chrono::duration<double, std::nano>(Clock::now() - from).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

hw_stats stats() {
  hw_stats s{};
  s.struct_size = sizeof(s);
  hw_get_stats(&s);
  return s;
}

template <typename Call>
double measure(int batches, Call call) {
  std::vector<double> per_call;
  for (int batch = 0; batch < batches; ++batch) {
    if (batch % kBatchesPerPause == 0) std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const auto from = Clock::now();
    for (int i = 0; i < kPerBatch; ++i) call(i);
    per_call.push_back(ns_since(from) / kPerBatch);
  }
  return median(std::move(per_call));
}

void print(const char* name, const char* unit, double ours) {
  std::printf("{\"name\":\"%s\",\"unit\":\"%s\",\"ours\":%.2f}\n", name, unit, ours);
}

// Both threads record all the time; the figure is of one of them.
double measure_contended(int batches) {
  std::atomic<bool> stop{false};
  std::thread other([&stop] {
    while (!stop.load(std::memory_order_relaxed)) {
      for (int i = 0; i < 20; ++i) hw_begin(HW_PHASE_DATA_WAIT);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  const double ns = measure(batches, [](int i) { hw_step(i, i); });
  stop.store(true);
  other.join();
  return ns;
}

double read_rate_m(const std::string& path) {
  std::vector<double> rates;
  for (int round = 0; round < 5; ++round) {
    headway::event::NameTable names;
    auto reader = headway::record::JournalReader::open(path, names);
    if (!reader.ok()) return 0;
    reader.value()->set_final();
    std::size_t events = 0;
    const auto from = Clock::now();
    for (auto batch = (*reader)->next(); !batch.empty(); batch = (*reader)->next()) {
      events += batch.size();
    }
    rates.push_back(static_cast<double>(events) * 1000 / ns_since(from));
  }
  return median(std::move(rates));
}

}  // namespace

int main(int argc, char** argv) {
  const int batches = argc > 1 ? std::max(1, std::atoi(argv[1])) : 400;
  std::string folder = (std::filesystem::temp_directory_path() / "hw_bench_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 2;
  hw_options options{};
  options.struct_size = sizeof(options);
  options.dir = folder.c_str();
  options.job = "bench";
  options.attempt = 1;
  if (const int error = hw_init(&options)) {
    std::fprintf(stderr, "bench_record: hw_init: errno %d\n", error);
    return 2;
  }
  const std::string path = hw_journal_path();
  print("record_ns", "ns", measure(batches, [](int i) { hw_step(i, i); }));
  print("record_span_half_ns", "ns", measure(batches, [](int) { hw_begin(HW_PHASE_DATA_WAIT); }));
  print("record_at_ns", "ns",
        measure(batches, [](int i) { hw_begin_at(HW_PHASE_EVAL, static_cast<std::uint64_t>(i)); }));
  print("clock_ns", "ns", measure(batches, [](int) {
          const std::uint64_t now = hw_now();
          asm volatile("" ::"r"(now));
        }));
  print("record_two_threads_ns", "ns", measure_contended(batches));
  const hw_stats end = stats();
  hw_shutdown();
  print("record_off_ns", "ns", measure(batches, [](int i) { hw_step(i, i); }));
  print("read_mrec_per_s", "M records/s", read_rate_m(path));
  std::filesystem::remove_all(folder);
  if (end.dropped != 0) {
    std::fprintf(stderr, "bench_record: %llu records dropped; the figures are not of records\n",
                 static_cast<unsigned long long>(end.dropped));
    return 1;
  }
  return 0;
}
