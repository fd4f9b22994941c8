// One rank's way through its output: what it complained of, and whether it went on to train. What
// it survived did not kill it. Lines of progress are most of a log, so they are only remembered
// until a complaint is there that they could disprove, and then the newest are looked at first. One
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "failure/evidence.h"

namespace headway::failure {

class RankScan {
 public:
  // `rules` outlives this.
  explicit RankScan(const Rules& rules) : counters_(rules.progress.size()), rules_(rules) {}

  // True while the traceback behind a line of noise goes on, its last line included.
  bool still_noise(std::string_view text);

  void hit(Hit hit);
  // A line that may show progress of these kinds. `lasts`: the text outlives this.
  void look_for_progress(std::string_view text, std::uint64_t kinds, bool lasts);

  std::vector<Hit> alive;
  bool in_noise = false;

 private:
  // The newest value of a kind of progress.
  struct Counter {
    bool seen = false;
    std::string value;
    std::size_t settled = 0;  // so many of the remembered lines have been looked at for it
  };
  struct Remembered {
    std::string_view text;
    std::uint64_t kinds;
  };

  // The first kind that the line shows; -1: none.
  [[nodiscard]] int progress_in(std::string_view text, std::uint64_t kinds) const;
  [[nodiscard]] std::string value_of(std::string_view text, int kind) const;
  // Brings the counter up to date with the lines that were only remembered.
  const Counter& settle(int kind);
  [[nodiscard]] bool any_counter();

  std::vector<Counter> counters_;  // by kind
  std::vector<Remembered> remembered_;
  int moved_ = 0;
  const Rules& rules_;
};

}  // namespace headway::failure
