// The last lines of one rank's output, kept as it passes by. feed() copies into a ring and counts
// line ends, nothing else; lines are cut and redacted when somebody asks. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headway::failure {

struct TailLines {
  std::vector<std::string> lines;  // redacted, without their ends; oldest first
  std::uint64_t cut_lines = 0;     // what came before them and is not among them
  std::uint64_t cut_bytes = 0;

  // "1234 lines (56789 bytes) before"; empty if nothing was cut.
  [[nodiscard]] std::string note() const;
};

class Tail {
 public:
  static constexpr std::size_t bytes_max_default = 32 * 1024;
  static constexpr std::size_t lines_max_default = 100;

  explicit Tail(std::size_t lines_max = lines_max_default,
                std::size_t bytes_max = bytes_max_default);

  // Output as it was read; a line may come in pieces.
  void feed(std::string_view bytes);
  void clear();

  // Of a line that was written over with '\r', as progress bars do, only what it showed last. A
  // line that is too long to be kept as a whole appears from somewhere inside it.
  [[nodiscard]] TailLines lines() const;

 private:
  std::size_t lines_max_;
  std::size_t bytes_max_;
  std::string ring_;             // grows up to bytes_max_, then is written round and round
  std::size_t next_ = 0;         // where the next byte goes once it is full
  std::uint64_t bytes_ = 0;      // fed so far
  std::uint64_t line_ends_ = 0;  // among them
};

}  // namespace headway::failure
