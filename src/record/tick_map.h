// Ticks of a journal's clock → ns. A continuous, monotone, piecewise linear function that the
// journal's own anchors steer, in the order in which they lie in the journal:
//
//   - It begins at the header's anchor with the header's rate, and is extended backwards with that
//     rate.
//   - At an anchor a new piece begins where the old one has arrived. Its rate is the one measured
//     between the last two anchors, plus what removes the error over the next correct_ns. An error
//     of more than step_ns *ahead* is taken at once (time may jump forwards, never back).
//
// A piece is never changed once begun, and an anchor reserves its slot before it reads the clock,
// so what a tick means depends only on what precedes it: live and late readers agree to the ns.
// Real time is monotonic time plus one constant, frozen for the attempt; real-time anchors that
// move against it are counted, not applied. Pure; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/wide.h"
#include "event/record.h"

namespace headway::record {

class TickMap {
 public:
  static constexpr std::size_t pieces_max = 4096;  // 5.7 hours of anchors; older ticks extrapolate
  static constexpr std::int64_t correct_ns = 5'000'000'000;
  static constexpr std::int64_t step_ns = 1'000'000;
  static constexpr std::int64_t jump_ns_min = 1'000'000'000;

  explicit TickMap(const event::HeaderFields& header);

  // Real-time ns by the frozen anchor; saturates far outside of any real date.
  [[nodiscard]] std::int64_t real_ns(std::uint64_t ticks) const {
    const Piece& last = pieces_[newest_];
    const std::uint64_t delta = ticks - last.ticks;
    if (static_cast<std::int64_t>(delta) >= 0) [[likely]]
      return after(last, delta);
    return older(ticks);
  }

  void add_anchor(std::uint64_t ticks, std::int64_t monotonic_ns, std::int64_t real_ns);

  [[nodiscard]] std::uint64_t jumps() const { return jumps_; }
  [[nodiscard]] std::int64_t jump_ns() const { return jump_ns_; }

 private:
  // ns per tick in units of 2^-48: at most 1000 ns, so that 64-bit ticks times this fit 128 bits.
  static constexpr int kShift = 48;
  static constexpr std::int64_t kFar = std::int64_t{1} << 62;
  struct Piece {
    std::uint64_t ticks;
    std::int64_t ns;  // real
    std::uint64_t rate;
  };

  // The usual case, with no need to saturate: less than 2^61 ns after the piece began.
  static std::int64_t after(const Piece& piece, std::uint64_t delta) {
    const base::Uint128 scaled = static_cast<base::Uint128>(delta) * piece.rate;
    if (static_cast<std::uint64_t>(scaled >> 64) >> 45 != 0) [[unlikely]] {
      return at(piece, piece.ticks + delta);
    }
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(scaled >> kShift)) + piece.ns;
  }
  static std::int64_t at(const Piece& piece, std::uint64_t ticks) {
    const auto delta = static_cast<std::int64_t>(ticks - piece.ticks);
    const base::Int128 ns =
        ((static_cast<base::Int128>(delta) * static_cast<std::int64_t>(piece.rate)) >> kShift) +
        piece.ns;
    if (ns > kFar) return kFar;
    if (ns < -kFar) return -kFar;
    return static_cast<std::int64_t>(ns);
  }
  [[nodiscard]] std::int64_t older(std::uint64_t ticks) const;
  void push(const Piece& piece);
  void count_jump(std::int64_t monotonic_ns, std::int64_t real_ns);

  bool steered_;                   // false: ticks are monotonic ns already
  std::int64_t real_minus_mono_;   // frozen
  std::int64_t displacement_ = 0;  // of real time, as last counted
  std::uint64_t nominal_rate_;
  std::uint64_t anchor_ticks_;  // the last anchor as it was measured
  std::int64_t anchor_ns_;
  std::vector<Piece> pieces_;  // a ring once it is full
  std::size_t newest_ = 0;
  std::uint64_t jumps_ = 0;
  std::int64_t jump_ns_ = 0;
};

}  // namespace headway::record
