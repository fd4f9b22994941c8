#include "timeline/ledger.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/wide.h"

namespace headway::timeline {
namespace {

using Wide = base::Int128;

// The smallest block that a run is divided into. Below it rounding could exceed the largest
// bucket's share, and the account would not be monotone.
constexpr std::int64_t kBlockMinNs = 4096;

std::int64_t failure_of(const Sums& sums, bool recovery) {
  return recovery ? sums.total() - sums[Bucket::effective] : sums.always_failure();
}

// The order in which an average step is laid: that of the buckets, but training after the waits,
// as time between two steps counts with the second. A replay comes before what is new.
constexpr std::array<Bucket, kBuckets> kLaid = [] {
  std::array<Bucket, kBuckets> out{};
  std::size_t n = 0;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    const auto bucket = static_cast<Bucket>(b);
    if (bucket == Bucket::effective || bucket == Bucket::wasted_replay) continue;
    out[n++] = bucket;
    if (bucket != Bucket::wasted_other) continue;
    out[n++] = Bucket::wasted_replay;
    out[n++] = Bucket::effective;
  }
  return out;
}();

std::size_t largest_bucket(const Sums& sums) {
  return static_cast<std::size_t>(std::max_element(sums.ns.begin(), sums.ns.end()) -
                                  sums.ns.begin());
}

// The first `i` of `n` equal blocks of a run: every bucket by floor, the largest takes the rest.
Sums first_blocks(const Sums& sums, std::size_t largest, std::int64_t length_ns, std::int64_t i,
                  std::int64_t n) {
  Sums out;
  std::int64_t others = 0;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    if (b == largest || sums.ns[b] == 0) continue;
    out.ns[b] = static_cast<std::int64_t>(Wide(sums.ns[b]) * i / n);
    others += out.ns[b];
  }
  out.ns[largest] = length_ns - others;
  return out;
}

// A run as equal blocks, one a step unless steps are very short. Block i covers
// [start_of(i), start_of(i + 1)).
struct Blocks {
  explicit Blocks(const Piece& piece)
      : length(piece.t1_ns - piece.t0_ns),
        count(std::clamp<std::int64_t>(piece.steps, 1,
                                       std::max<std::int64_t>(1, length / kBlockMinNs))) {}
  [[nodiscard]] std::int64_t start_of(std::int64_t i) const {
    return static_cast<std::int64_t>(Wide(length) * i / count);
  }
  // Which block the offset x lies in.
  [[nodiscard]] std::int64_t at(std::int64_t x) const {
    auto i = static_cast<std::int64_t>(Wide(x) * count / length);
    while (i + 1 < count && start_of(i + 1) <= x) ++i;
    while (i > 0 && start_of(i) > x) --i;
    return i;
  }

  std::int64_t length;
  std::int64_t count;
};

// The first x nanoseconds of a run whose order is not known: block after block, each like the
// average.
Sums average(const Piece& piece, const Blocks& blocks, std::int64_t i, std::int64_t x) {
  const std::size_t largest = largest_bucket(piece.sums);
  Sums out = first_blocks(piece.sums, largest, blocks.start_of(i), i, blocks.count);
  const Sums next = first_blocks(piece.sums, largest, blocks.start_of(i + 1), i + 1, blocks.count);
  std::int64_t left = x - blocks.start_of(i);
  for (const Bucket b : kLaid) {
    const std::int64_t take = std::clamp<std::int64_t>(next[b] - out[b], 0, left);
    out[b] += take;
    left -= take;
  }
  HW_CHECK(left == 0);
  return out;
}

}  // namespace

Account& Account::operator+=(const Account& o) {
  sums += o.sums;
  failure_ns += o.failure_ns;
  steps += o.steps;
  return *this;
}

Account& Account::operator-=(const Account& o) {
  sums -= o.sums;
  failure_ns -= o.failure_ns;
  steps -= o.steps;
  return *this;
}

Account part_of(const Piece& piece, std::int64_t t_ns) {
  Account out;
  const std::int64_t length = piece.t1_ns - piece.t0_ns;
  const std::int64_t x = std::clamp<std::int64_t>(t_ns - piece.t0_ns, 0, length);
  if (x == 0) return out;
  if (x == length) {
    out.sums = piece.sums;
    out.steps = piece.steps;
  } else {
    const Blocks blocks(piece);
    const std::int64_t i = blocks.at(x);
    out.sums =
        piece.stretches.cover(length) ? piece.stretches.first(x) : average(piece, blocks, i, x);
    out.steps = static_cast<std::int64_t>(Wide(piece.steps) * i / blocks.count);
  }
  out.failure_ns = failure_of(out.sums, piece.recovery);
  return out;
}

void Ledger::add(const Piece& piece) {
  HW_CHECK(piece.t1_ns >= piece.t0_ns);
  HW_CHECK(piece.sums.total() == piece.t1_ns - piece.t0_ns);
  HW_CHECK(pieces_.empty() || piece.t0_ns >= pieces_.back().t1_ns);
  if (piece.t1_ns == piece.t0_ns && piece.steps == 0) return;
  pieces_.push_back(piece);
  pieces_.back().foldable = false;
  if (++singles_ > pieces_max) shrink_pieces();
}

Piece& Ledger::open_step(std::int64_t t0_ns) {
  HW_CHECK(pieces_.empty() || t0_ns >= pieces_.back().t1_ns);
  const bool grows = !pieces_.empty() && pieces_.back().foldable && pieces_.back().t1_ns == t0_ns &&
                     pieces_.back().steps < steps_per_run_;
  if (!grows) {
    if (++runs_ > runs_max) halve_runs();
    Piece& run = pieces_.emplace_back();
    run.t0_ns = run.t1_ns = t0_ns;
    run.foldable = true;
  }
  return pieces_.back();
}

void Ledger::close_step(std::int64_t t1_ns, std::int64_t data_end, std::int64_t train_ns) {
  HW_CHECK(!pieces_.empty() && pieces_.back().foldable && t1_ns >= pieces_.back().t1_ns);
  Piece& run = pieces_.back();
  run.t1_ns = t1_ns;
  run.steps += 1;
  run.data_end = data_end;
  run.train_ns += train_ns;
}

namespace {

void merge_into(Piece& into, const Piece& piece) {
  into.t1_ns = piece.t1_ns;
  into.sums += piece.sums;
  into.steps += piece.steps;
  if (piece.steps > 0) into.data_end = piece.data_end;
  into.train_ns += piece.train_ns;
  into.stretches.append(piece.stretches);
}

}  // namespace

// Runs double their length whenever there are too many: amortised O(1) a step, and the same steps
// always give the same runs.
void Ledger::halve_runs() {
  steps_per_run_ *= 2;
  std::vector<Piece> out;
  out.reserve(pieces_.size());
  runs_ = 0;
  for (const Piece& piece : pieces_) {
    if (!out.empty() && piece.foldable && out.back().foldable && out.back().t1_ns == piece.t0_ns &&
        out.back().recovery == piece.recovery && out.back().steps + piece.steps <= steps_per_run_) {
      merge_into(out.back(), piece);
      continue;
    }
    out.push_back(piece);
    if (piece.foldable) ++runs_;
  }
  pieces_ = std::move(out);
}

// Too many single pieces (a start-up with tens of thousands of spans): neighbours are merged two by
// two. Whole accounts stay exact; only a window's cut inside becomes coarser.
void Ledger::shrink_pieces() {
  std::vector<Piece> out;
  out.reserve(pieces_.size() / 2 + 1);
  bool open = false;
  singles_ = 0;
  for (const Piece& piece : pieces_) {
    if (open && !piece.foldable && out.back().t1_ns == piece.t0_ns &&
        out.back().recovery == piece.recovery) {
      merge_into(out.back(), piece);
      open = false;
      continue;
    }
    out.push_back(piece);
    open = !piece.foldable;
    if (open) ++singles_;
  }
  pieces_ = std::move(out);
}

void Ledger::append(const Ledger& later) {
  HW_CHECK(empty() || later.empty() || later.begin_ns() >= end_ns());
  pieces_.insert(pieces_.end(), later.pieces_.begin(), later.pieces_.end());
}

void Ledger::seal() {
  cumulative_.clear();
  cumulative_.reserve(pieces_.size() + 1);
  Account sum;
  for (const Piece& piece : pieces_) {
    cumulative_.push_back(sum);
    sum += part_of(piece, piece.t1_ns);
  }
  cumulative_.push_back(sum);
}

Account Ledger::total() const {
  HW_CHECK(cumulative_.size() == pieces_.size() + 1);
  return cumulative_.back();
}

Account Ledger::before(std::int64_t t_ns) const {
  HW_CHECK(cumulative_.size() == pieces_.size() + 1);
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), t_ns,
                                      [](std::int64_t t, const Piece& p) { return t < p.t0_ns; });
  if (after == pieces_.begin()) return {};
  const auto i = static_cast<std::size_t>(after - pieces_.begin()) - 1;
  Account out = cumulative_[i];
  // A piece of no length (a step that took no time) lies before its own instant.
  if (pieces_[i].t1_ns <= t_ns) return cumulative_[i + 1];
  out += part_of(pieces_[i], t_ns);
  return out;
}

Account Ledger::window(std::int64_t from_ns, std::int64_t to_ns) const {
  if (to_ns <= from_ns) return {};
  Account out = before(to_ns);
  out -= before(from_ns);
  return out;
}

std::int64_t Ledger::train_ns_up_to(std::int64_t data) const {
  std::int64_t sum = 0;
  std::int64_t data_begin = 0;
  bool first = true;
  for (const Piece& piece : pieces_) {
    if (piece.steps == 0) continue;
    if (piece.data_end <= data) {
      sum += piece.train_ns;
    } else if (!first && data > data_begin && piece.data_end > data_begin) {
      // By double: positions are the user's numbers and may span all 64 bits.
      const double share = (static_cast<double>(data) - static_cast<double>(data_begin)) /
                           (static_cast<double>(piece.data_end) - static_cast<double>(data_begin));
      sum += static_cast<std::int64_t>(static_cast<double>(piece.train_ns) * share);
    }
    data_begin = piece.data_end;
    first = false;
  }
  return sum;
}

}  // namespace headway::timeline
