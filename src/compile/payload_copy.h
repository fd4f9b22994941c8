// Payloads out of a log's file again, by their place, in bounded memory whatever their length. One
// thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "compile/compile_log.h"
#include "compile/log_pieces.h"

namespace headway::compile {

class PayloadSource {
 public:
  static base::Result<PayloadSource> open(const std::string& path);

  // The text that torch dumped, without the tabs that its log has before each line, piece by piece.
  // False from `sink` stops it. An error where the file cannot be read, or has become shorter.
  base::Status copy(const Place& place, const std::function<bool(std::string_view)>& sink);
  // The same as it is in the file: JSON of a record's first line.
  base::Result<std::string> raw(const Place& place, std::size_t bytes_max) const;
  // Its beginning, cut between characters.
  base::Result<std::string> text(const Place& place, std::size_t bytes_max);

 private:
  PayloadSource(std::string path, LogPieces pieces)
      : path_(std::move(path)), pieces_(std::move(pieces)) {}
  [[nodiscard]] base::Status read(std::uint64_t at, std::size_t bytes, std::string& into) const;

  std::string path_;
  LogPieces pieces_;
  std::string chunk_, lines_;
};

}  // namespace headway::compile
