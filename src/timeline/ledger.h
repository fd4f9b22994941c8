// The ledger: a job's wall time as a row of pieces, each a closed account. Pieces follow one
// another in time; between two of them lies only time that is outside the wall (queued). Runs of
// steps are folded, so that a ledger stays small however long the job; cumulative integers make a
// window two binary searches, and windows that touch sum to the whole to the nanosecond.
//
// Plain data behind one owner; const methods may be called from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/bucket.h"
#include "timeline/stretches.h"

namespace headway::timeline {

struct Piece {
  std::int64_t t0_ns = 0;
  std::int64_t t1_ns = 0;
  Sums sums;                  // sums.total() == t1_ns - t0_ns
  std::int64_t steps = 0;     // finished steps inside
  std::int64_t data_end = 0;  // position after the last of them
  std::int64_t train_ns = 0;  // effective + replay, for positions inside a run
  bool recovery = false;  // before the first step of a later attempt: all but effective is failure
  bool foldable = false;  // a run of steps, which may grow and merge with its neighbour
  Stretches stretches;    // the order of what is in `sums`, where it is known

  // What happened next, for so long.
  void lay(Bucket bucket, std::int64_t ns) {
    sums[bucket] += ns;
    stretches.push(bucket, ns);
  }
};

// What a window, or the whole, adds up to.
struct Account {
  Sums sums;
  std::int64_t failure_ns = 0;  // Failure% by the rules; the rest of the non-effective is idleness
  std::int64_t steps = 0;

  Account& operator+=(const Account& o);
  Account& operator-=(const Account& o);
  bool operator==(const Account&) const = default;
};

class Ledger {
 public:
  static constexpr std::size_t runs_max = 512;     // folded pieces of one attempt
  static constexpr std::size_t pieces_max = 8192;  // other pieces of one attempt

  // Adds a piece that begins where the last one ended, or later. Empty pieces are passed over.
  void add(const Piece& piece);
  // One finished step, beginning at t0: the caller lays its nanoseconds on the run that is
  // returned, then closes the step. The hot path: nothing is copied.
  Piece& open_step(std::int64_t t0_ns);
  void close_step(std::int64_t t1_ns, std::int64_t data_end, std::int64_t train_ns);
  // Takes over all pieces of a later ledger.
  void append(const Ledger& later);
  // Cumulative sums; call once after the last add. Queries need it.
  void seal();

  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] std::int64_t begin_ns() const { return empty() ? 0 : pieces_.front().t0_ns; }
  [[nodiscard]] std::int64_t end_ns() const { return empty() ? 0 : pieces_.back().t1_ns; }
  [[nodiscard]] Account total() const;
  // What lies before t. O(log pieces). Monotone in t, bucket by bucket.
  [[nodiscard]] Account before(std::int64_t t_ns) const;
  [[nodiscard]] Account window(std::int64_t from_ns, std::int64_t to_ns) const;
  // Training time (effective + replay) of steps up to data position `data`, by proportion inside a
  // folded run.
  [[nodiscard]] std::int64_t train_ns_up_to(std::int64_t data) const;

 private:
  void halve_runs();
  void shrink_pieces();

  std::vector<Piece> pieces_;
  std::vector<Account> cumulative_;  // cumulative_[i]: all before pieces_[i]
  std::int64_t steps_per_run_ = 1;
  std::size_t runs_ = 0;
  std::size_t singles_ = 0;
};

// What of `piece` lies before `t_ns`: exact at both ends, monotone between. Inside, as it happened
// where the piece knows its order; else one average step after the other, waits before training.
[[nodiscard]] Account part_of(const Piece& piece, std::int64_t t_ns);

}  // namespace headway::timeline
