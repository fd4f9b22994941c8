// Times that were measured, and how many of them were longer than what. One owner, one thread.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace headway::bench {

class Samples {
 public:
  void add(std::int64_t ns) { ns_.push_back(ns); }
  [[nodiscard]] std::size_t count() const { return ns_.size(); }

  // As members of a JSON object: the count, and milliseconds.
  [[nodiscard]] std::string json() {
    std::ranges::sort(ns_);
    return fmt::format(
        R"("count":{},"p50_ms":{:.3f},"p99_ms":{:.3f},"p999_ms":{:.3f},"max_ms":{:.3f})",
        ns_.size(), share_ms(0.5), share_ms(0.99), share_ms(0.999), share_ms(1));
  }

 private:
  [[nodiscard]] double share_ms(double share) const {
    if (ns_.empty()) return 0;
    const auto last = static_cast<double>(ns_.size() - 1);
    return static_cast<double>(ns_[static_cast<std::size_t>(share * last)]) * 1e-6;
  }
  std::vector<std::int64_t> ns_;
};

}  // namespace headway::bench
