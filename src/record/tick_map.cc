#include "record/tick_map.h"

#include <algorithm>

#include "base/check.h"

namespace headway::record {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t clamped_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
  return sum;
}

std::int64_t clamped_difference(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return a < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
  return difference;
}

}  // namespace

TickMap::TickMap(const event::HeaderFields& header)
    : steered_(header.clock_kind == static_cast<std::uint32_t>(event::ClockKind::tsc)),
      real_minus_mono_(clamped_difference(header.anchor_real_ns, header.anchor_monotonic_ns)),
      nominal_rate_(static_cast<std::uint64_t>(
          (static_cast<base::Uint128>(kNsPerSecond) << kShift) / header.clock_hz)),
      anchor_ticks_(header.anchor_ticks),
      anchor_ns_(std::clamp(header.anchor_real_ns, -kFar / 2, kFar / 2)) {
  HW_CHECK(header.clock_hz >= 1'000'000);
  pieces_.push_back({anchor_ticks_, anchor_ns_, nominal_rate_});
}

std::int64_t TickMap::older(std::uint64_t ticks) const {
  // Late records are a piece or two back; a walk finds them sooner than a search would.
  std::size_t index = newest_;
  for (std::size_t step = 1; step < pieces_.size(); ++step) {
    index = index == 0 ? pieces_.size() - 1 : index - 1;
    if (static_cast<std::int64_t>(ticks - pieces_[index].ticks) >= 0) break;
  }
  return at(pieces_[index], ticks);
}

void TickMap::push(const Piece& piece) {
  if (pieces_.size() < pieces_max) {
    pieces_.push_back(piece);
    newest_ = pieces_.size() - 1;
    return;
  }
  newest_ = (newest_ + 1) % pieces_max;
  pieces_[newest_] = piece;
}

void TickMap::count_jump(std::int64_t monotonic_ns, std::int64_t real_ns) {
  const std::int64_t offset = clamped_difference(real_ns, monotonic_ns);
  const std::int64_t displacement = clamped_difference(offset, real_minus_mono_);
  const std::int64_t moved = clamped_difference(displacement, displacement_);
  if (moved <= jump_ns_min && moved >= -jump_ns_min) return;
  displacement_ = displacement;
  ++jumps_;
  jump_ns_ = clamped_sum(jump_ns_, moved < 0 ? -moved : moved);
}

void TickMap::add_anchor(std::uint64_t ticks, std::int64_t monotonic_ns, std::int64_t real_ns) {
  count_jump(monotonic_ns, real_ns);
  if (!steered_) return;
  const std::int64_t measured_ns =
      std::clamp(clamped_sum(monotonic_ns, real_minus_mono_), -kFar / 2, kFar / 2);
  const auto ticks_passed = static_cast<std::int64_t>(ticks - anchor_ticks_);
  const std::int64_t ns_passed = clamped_difference(measured_ns, anchor_ns_);
  if (ticks_passed <= 0 || ns_passed <= 0) return;
  const base::Uint128 wide =
      (static_cast<base::Uint128>(ns_passed) << kShift) / static_cast<std::uint64_t>(ticks_passed);
  // A rate that no machine's clock takes: the anchor is of no use, the old piece goes on.
  if (wide < nominal_rate_ / 4 || wide > static_cast<base::Uint128>(nominal_rate_) * 4) return;
  const auto rate = static_cast<std::int64_t>(wide);

  std::int64_t begin_ns = std::clamp(this->real_ns(ticks), -kFar / 2, kFar / 2);
  std::int64_t error_ns = clamped_difference(measured_ns, begin_ns);
  if (error_ns > step_ns) {
    begin_ns = measured_ns;
    error_ns = 0;
  }
  // At most a tenth of the rate, so that time never stands still or turns back.
  const std::int64_t span_ns = std::max(ns_passed, correct_ns);
  const std::int64_t bounded_ns = std::clamp(error_ns, -span_ns / 10, span_ns / 10);
  const auto correction =
      static_cast<std::int64_t>(static_cast<base::Int128>(rate) * bounded_ns / span_ns);
  anchor_ticks_ = ticks;
  anchor_ns_ = measured_ns;
  push({ticks, begin_ns, static_cast<std::uint64_t>(rate + correction)});
}

}  // namespace headway::record
