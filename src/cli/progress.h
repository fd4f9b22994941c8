// How far a long piece of work is, on stderr where that is a terminal: nothing in the first second,
// then one line that is drawn over itself and gone at the end. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/style.h"

namespace headway::cli {

class ProgressBar {
 public:
  ProgressBar(std::string label, std::uint64_t total_bytes);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void add(std::uint64_t bytes);
  void clear();
  // What cores take: it must not outlive the bar.
  [[nodiscard]] std::function<void(std::uint64_t)> callback() {
    return [this](std::uint64_t bytes) { add(bytes); };
  }

 private:
  const std::string label_;
  const std::uint64_t total_;
  const bool shown_;  // a terminal
  const Style style_;
  const std::int64_t begin_ns_;
  std::int64_t drawn_ns_ = 0;
  std::uint64_t done_ = 0;
  bool dirty_ = false;
};

// The line, without what moves the cursor. Pure.
[[nodiscard]] std::string progress_line(const std::string& label, std::uint64_t done,
                                        std::uint64_t total, std::int64_t elapsed_ns,
                                        const Style& style);

}  // namespace headway::cli
