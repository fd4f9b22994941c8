// Which checkpoints of a folder are kept and which go. Pure: what to do with the answer is prune.h.
//
// The newest good one is always kept, and so is whatever has an anchor. What is not good counts for
// nothing (ten broken ones are no reason to drop the last that works) and is kept, for somebody to
// look at, unless the policy says otherwise. Where nothing is good nothing goes: what is damaged in
// one place, or without its manifest, may be all that is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace headway::checkpoint {

struct RetentionPolicy {
  // This many of the newest good ones; and where those are deltas, this many of the newest whole
  // ones, too: three deltas on one image are lost with it.
  std::size_t last = 1;
  std::int64_t every_ns = 0;  // and the first good one of every such stretch of real time; 0: none
  bool drop_damaged = false;  // those that are surely not good
  // Those without a manifest: only where a person says so, who may have lost it.
  bool drop_lost = false;
};

struct Candidate {
  std::int64_t time_ns = 0;  // of its manifest
  enum class State : std::uint8_t {
    good,
    damaged,     // surely
    unreadable,  // an error of the disk, a version of the future: nobody knows
    lost,        // without a manifest: all else of it may be there
  } state = State::good;
  bool anchor = false;
  bool is_link = false;
  bool is_delta = false;
  std::size_t base = none;  // the index of the one that it cannot be read without
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

enum class Fate : std::uint8_t {
  newest,
  last,
  whole,  // deltas among the last: one of so many that are read alone
  every,
  anchor,
  base,        // one that stays is read with it
  left,        // damaged, unreadable or a link: not ours to remove
  goes,        // by the policy
  goes_broken  // damaged, or without its manifest
};
[[nodiscard]] std::string_view name_of(Fate fate);  // "last", "goes"
[[nodiscard]] constexpr bool is_removed(Fate fate) {
  return fate == Fate::goes || fate == Fate::goes_broken;
}

// One for each; `candidates` come newest first, by the order of their commits.
[[nodiscard]] std::vector<Fate> decide_fates(const RetentionPolicy& policy,
                                             const std::vector<Candidate>& candidates);

}  // namespace headway::checkpoint
