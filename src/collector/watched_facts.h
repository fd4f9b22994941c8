// The facts of one tenant's attempts that detection looks at: of the newest days, and no more than
// fit into a bound of memory, the newest. What had no room is known by name, so that the number of
// those that are missing is right however often the store tells of one. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "fleet/fact.h"

namespace headway::collector {

class WatchedFacts {
 public:
  static constexpr std::size_t left_out_max = 2'000'000;  // that are counted

  explicit WatchedFacts(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // In place of what was known of that attempt. Up to a quarter more than the bound is held until
  // keep_from(), so that not every one that comes in pushes one out.
  void put(const std::string& job, fleet::AttemptFacts facts);
  // Forgets those whose last day is before that one, then the oldest of too many.
  void keep_from(std::int32_t oldest_day);

  [[nodiscard]] const std::vector<fleet::AttemptFacts>& facts() const { return facts_; }
  [[nodiscard]] const std::string& job(std::size_t fact) const { return jobs_[fact]; }
  // Attempts of those days that had no room.
  [[nodiscard]] std::size_t left_out() const { return left_out_.size(); }
  // About what is held, in memory.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void push_out_oldest();
  void keep(const std::vector<std::size_t>& kept);

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::vector<fleet::AttemptFacts> facts_;
  std::vector<std::string> jobs_;                          // as facts_
  std::unordered_map<std::uint64_t, std::size_t> places_;  // in facts_, by job and attempt
  // Those that were pushed out: job and attempt, and the last day.
  std::unordered_map<std::uint64_t, std::int32_t> left_out_;
};

}  // namespace headway::collector
