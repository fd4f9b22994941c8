// What a rank's training lane was doing, as flat segments. A segment names a kind of activity, not
// a bucket: the same data wait is start-up before the first step and waste after it, and only the
// attempt as a whole knows which. Time that no segment covers is plain work of its region.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "event/vocabulary.h"

namespace headway::timeline {

inline constexpr std::int64_t kNoTime = INT64_MIN;
// Times beyond ±73 years of 1970 are clamped (and counted), so that no difference can overflow.
inline constexpr std::int64_t kTimeMax = std::int64_t{1} << 61;

enum class Kind : std::uint8_t {
  none = 0,
  // 1 … 15 are the built-in phases by their ABI numbers.
  compile_cold = HW_PHASE_COMPILE,
  checkpoint_blocked = HW_PHASE_CHECKPOINT_BLOCKED,
  data_wait = HW_PHASE_DATA_WAIT,
  eval = HW_PHASE_EVAL,
  publish = HW_PHASE_PUBLISH,
  join = HW_PHASE_JOIN,
  compile_warm = 16,
  user = 17,  // a span of the user's own, outside a step
};

struct Segment {
  std::int64_t t0_ns;
  std::int64_t t1_ns;
  Kind kind;
};

// Segments in time order, not overlapping. A few live inline, because nearly every step has none to
// three; beyond segments_max neighbours are merged, so a list is bounded whatever the stream says.
class SegmentList {
 public:
  static constexpr std::size_t inline_max = 3;
  static constexpr std::size_t segments_max = 4096;

  SegmentList() {}  // few_ stays unwritten: size_ says what is in it
  SegmentList(const SegmentList& o)
      : few_(o.few_),
        size_(o.size_),
        many_(o.many_ ? std::make_unique<std::vector<Segment>>(*o.many_) : nullptr) {}
  SegmentList& operator=(const SegmentList& o) { return *this = SegmentList(o); }
  SegmentList(SegmentList&& o) noexcept { *this = std::move(o); }
  SegmentList& operator=(SegmentList&& o) noexcept {
    size_ = o.size_;
    for (std::uint32_t i = 0; i < size_; ++i) few_[i] = o.few_[i];
    many_ = std::move(o.many_);
    o.size_ = 0;
    return *this;
  }

  // Returns how many segments were merged away to stay within bounds (nearly always 0).
  std::size_t push(const Segment& s) {
    if (!many_) [[likely]] {
      if (size_ > 0 && few_[size_ - 1].kind == s.kind && few_[size_ - 1].t1_ns == s.t0_ns) {
        few_[size_ - 1].t1_ns = s.t1_ns;
        return 0;
      }
      if (size_ < inline_max) {
        few_[size_++] = s;
        return 0;
      }
    }
    return push_many(s);
  }
  void clear() {
    size_ = 0;
    many_.reset();
  }
  [[nodiscard]] std::size_t size() const { return many_ ? many_->size() : size_; }
  [[nodiscard]] const Segment* begin() const { return many_ ? many_->data() : few_.data(); }
  [[nodiscard]] const Segment* end() const { return begin() + size(); }
  Segment* begin() { return many_ ? many_->data() : few_.data(); }
  Segment* end() { return begin() + size(); }

 private:
  std::size_t push_many(const Segment& s);

  std::array<Segment, inline_max> few_;
  std::uint32_t size_ = 0;
  std::unique_ptr<std::vector<Segment>> many_;
};

}  // namespace headway::timeline
