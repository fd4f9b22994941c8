// What a piece of the ledger did, in the order in which it did it, as long as that is short. A
// window that cuts a step must know that the evaluation came before the training, or that the save
// came after it: which of them depends on the script, so no fixed order of buckets would do.
//
// Plain data; any thread may read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "timeline/bucket.h"

namespace headway::timeline {

class Stretches {
 public:
  // A step with an evaluation, a save and a wait, and unnamed time between them, has seven.
  static constexpr std::size_t stretches_max = 8;

  // Beyond the maximum all are forgotten: half an order would not cover the piece. Neighbours of
  // one bucket are one, so whether it fits does not depend on how the steps were folded.
  void push(Bucket bucket, std::int64_t ns) {
    if (spilled_ || ns == 0) return;
    if (size_ > 0 && buckets_[size_ - 1] == bucket) {
      ns_[size_ - 1] += ns;
    } else if (size_ < stretches_max) {
      buckets_[size_] = bucket;
      ns_[size_++] = ns;
    } else {
      spilled_ = true;
    }
  }
  void append(const Stretches& later) {
    for (std::size_t i = 0; i < later.size_; ++i) push(later.buckets_[i], later.ns_[i]);
    spilled_ |= later.spilled_;
  }

  // False where something of the piece was never pushed, or did not fit.
  [[nodiscard]] bool cover(std::int64_t length_ns) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < size_; ++i) sum += ns_[i];
    return !spilled_ && sum == length_ns;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Bucket bucket(std::size_t i) const { return buckets_[i]; }
  [[nodiscard]] std::int64_t ns(std::size_t i) const { return ns_[i]; }
  // The first `ns` of them.
  [[nodiscard]] Sums first(std::int64_t ns) const {
    Sums out;
    for (std::size_t i = 0; i < size_ && ns > 0; ++i) {
      const std::int64_t take = std::min(ns_[i], ns);
      out[buckets_[i]] += take;
      ns -= take;
    }
    return out;
  }

 private:
  std::array<std::int64_t, stretches_max> ns_{};
  std::array<Bucket, stretches_max> buckets_{};
  std::uint8_t size_ = 0;
  bool spilled_ = false;
};

}  // namespace headway::timeline
