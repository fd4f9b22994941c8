// A line of JSON for everybody who was refused or cut off. Whoever is refused again and again must
// not fill a disk with it: an address has so many lines, then fewer and fewer, and what is left out
// is counted and said once a minute. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "collector/access.h"
#include "net/http_server.h"

namespace headway::collector {

struct AuditLimits {
  double lines_per_s = 0.1, lines_burst = 50;  // of one address
  double all_per_s = 5, all_burst = 1000;      // of all together
  std::size_t addresses_max = 1000;            // that are told apart; the rest is "others"
  std::int64_t summary_ns = 60'000'000'000;
  std::size_t summary_lines_max = 20;  // those of whom most was left out; the rest is "others"
};

class Audit {
 public:
  // `write` gets whole lines without their ends; none: nothing is written.
  Audit(std::function<void(const std::string&)> write, AuditLimits limits);

  // `label`: of the token; empty: there was none. `now_ns`: monotonic.
  void refused(const net::Refusal& refusal, const std::string& label, std::int64_t now_ns);
  // From time to time: what was left out. `last`: now.
  void tend(std::int64_t now_ns, bool last = false);

 private:
  struct Address {
    Bucket bucket;
    std::map<int, std::uint64_t> left_out;  // by status
    [[nodiscard]] std::uint64_t lines() const;
  };
  Address& address_of(const std::string& peer, std::int64_t now_ns);
  void summarise(const std::string& peer, const std::map<int, std::uint64_t>& left_out) const;

  const std::function<void(const std::string&)> write_;
  const AuditLimits limits_;
  std::mutex mutex_;
  Bucket all_;
  std::map<std::string, Address> addresses_;
  std::int64_t next_summary_ns_ = INT64_MIN;
};

}  // namespace headway::collector
