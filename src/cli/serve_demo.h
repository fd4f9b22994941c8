// `headway serve --demo`: a made-up fleet in a store that goes away, so that somebody can look at
// every view before they have a fleet of their own. Some of its jobs run while one looks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collector/collector.h"
#include "demo/told_job.h"

namespace headway::cli {

class DemoFleet {
 public:
  static constexpr int jobs_per_day = 14;
  static constexpr std::uint64_t seed = 20260401;

  // With a folder that goes away with it.
  static base::Result<std::unique_ptr<DemoFleet>> make();
  explicit DemoFleet(std::string folder) : folder_(std::move(folder)) {}
  ~DemoFleet();
  DemoFleet(const DemoFleet&) = delete;
  DemoFleet& operator=(const DemoFleet&) = delete;
  [[nodiscard]] std::string store() const { return folder_ + "/store.db"; }

  // All that has happened until `now_ns`, with what would have been found on the way.
  void fill(collector::Collector& collector, std::int64_t now_ns);
  // Every second: what the jobs that run have done since, and now and then that they are there.
  void go_on(collector::Collector& collector, std::int64_t now_ns);

 private:
  struct Running {
    std::string job;
    demo::ToldJob told;
    std::vector<std::vector<std::size_t>> sent;  // by attempt
  };
  static constexpr std::int64_t sign_every_ns = 10'000'000'000;
  static void send(collector::Collector& collector, Running& job, std::int64_t now_ns);
  static void say_alive(collector::Collector& collector, const Running& job, std::int64_t now_ns);

  std::string folder_;
  std::vector<Running> running_;
  std::int64_t next_sign_ns_ = 0;
};

}  // namespace headway::cli
