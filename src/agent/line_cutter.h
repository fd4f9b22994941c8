// Cuts one stream of one rank into whole lines with the rank's prefix, so that lines of many ranks
// never mix. Pure, binary-safe, single-threaded; holds at most line_bytes_max bytes.
//
// '\n', "\r\n" and a lone '\r' (a progress bar) end a line. A line longer than line_bytes_max is
// passed on in pieces, each a line of its own with the prefix.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headway::agent {

class LineCutter {
 public:
  static constexpr std::size_t line_bytes_max = 64 * 1024;

  explicit LineCutter(std::string prefix) : prefix_(std::move(prefix)) {}

  // Appends to `out` every line that `bytes` completes.
  void feed(std::string_view bytes, std::string& out);
  // The stream has ended: what is left becomes a line.
  void finish(std::string& out);

 private:
  void emit(std::string_view line, std::string& out);
  void hold(std::string_view bytes, std::string& out);

  std::string prefix_;
  std::string held_;  // the line so far, without its end
};

}  // namespace headway::agent
