// Reads a text file, or standard input, line by line in chunks: nothing is mapped, so a file that
// shrinks under the reader is merely shorter. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "interchange/line.h"

namespace headway::interchange {

class LineReader {
 public:
  // `path` "-" is standard input.
  static base::Result<LineReader> open(const std::string& path);

  // The next line without its line break ("\n" or "\r\n"), with kLinePaddingBytes readable behind
  // it, valid until the next call. False at the end or after a read error: then ask status(). A
  // line longer than kLineBytesMax comes out cut one byte above it, which the parser refuses.
  bool next(std::string_view& line);

  [[nodiscard]] std::uint64_t number() const { return number_; }  // of the last line, from 1
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] base::Status status() const { return status_; }

 private:
  LineReader(std::string name, base::UniqueFd fd, bool owned);
  bool fill();
  void skip_rest_of_line();

  std::string name_;
  base::UniqueFd fd_;
  bool owned_ = true;
  bool ended_ = false;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // first byte not handed out
  std::size_t end_ = 0;
  std::size_t scanned_ = 0;  // bytes after begin_ known to hold no line break
  std::uint64_t number_ = 0;
  base::Status status_;

 public:
  LineReader(LineReader&&) = default;
  LineReader& operator=(LineReader&&) = default;
  ~LineReader();
};

}  // namespace headway::interchange
