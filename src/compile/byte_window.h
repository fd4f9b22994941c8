// A window onto a file, or several behind one another, read once from front to back: what is held
// can be looked at, more of it read behind, and what is done with dropped. Grows as far as its user
// lets it. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace headway::compile {

class ByteWindow {
 public:
  // Behind what is held so many more bytes can be read (and mean nothing): simdjson needs it.
  static constexpr std::size_t kPaddingBytes = 64;

  // `following`: files that are read behind it as if they were its end.
  ByteWindow(std::string path, base::UniqueFd fd, std::vector<std::string> following = {});

  [[nodiscard]] std::string_view held() const { return {bytes_.data() + begin_, end_ - begin_}; }
  [[nodiscard]] std::uint64_t position() const { return position_; }  // of held()[0], in all
  // Reads more behind what is held, whose place in memory may change. False at the end of the file,
  // or after an error: then ask status().
  bool more();
  void drop(std::size_t bytes);  // from the front
  // Out of the middle. The next drop() has to go as far as there, at least.
  void cut(std::size_t from, std::size_t bytes);
  [[nodiscard]] const base::Status& status() const { return status_; }

 private:
  bool open_next();

  std::string path_;
  base::UniqueFd fd_;
  std::vector<std::string> following_;
  std::size_t next_ = 0;  // of them
  std::vector<char> bytes_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t cut_bytes_ = 0;  // since the last drop()
  bool ended_ = false;
  base::Status status_;
};

}  // namespace headway::compile
