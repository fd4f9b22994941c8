// Where exports and imports go: standard output, or a file that appears whole or not at all
// (written beside its place, synced, renamed). Buffered; remembers the first error and a hash of
// the content. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"

namespace headway::interchange {

// 128-bit FNV-1a: names content, does not guard it.
class ContentHash {
 public:
  void update(std::string_view bytes);
  [[nodiscard]] std::string hex() const;

 private:
  __extension__ using Wide = unsigned __int128;
  Wide state_ = (static_cast<Wide>(0x6C62272E07BB0142ull) << 64) | 0x62B821756295C58Dull;
};

class OutFile {
 public:
  // "-" is standard output. Otherwise the bytes go to a temporary beside `path`.
  static base::Result<OutFile> open(const std::string& path);
  OutFile(OutFile&&) = default;
  OutFile& operator=(OutFile&&) = delete;
  ~OutFile();

  // Where producers append; flush_some() empties it when it has grown.
  std::string& buffer() { return buffer_; }
  void flush_some() {
    if (buffer_.size() >= kFlushBytes) flush();
  }

  // Writes the rest and gives the file its name. `path` empty: the one it was opened for.
  base::Status commit(const std::string& path = {});
  // Gives up: the temporary goes away. Also what the destructor does before a commit.
  void discard();

  // Of all that was written; after the last flush().
  [[nodiscard]] std::string hash();
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] base::Status status() const { return status_; }
  void flush();

 private:
  static constexpr std::size_t kFlushBytes = 1 << 18;
  OutFile(std::string path, std::string temporary, base::UniqueFd fd);

  std::string path_;
  std::string temporary_;  // empty: standard output, or done
  base::UniqueFd fd_;
  std::string buffer_;
  ContentHash hash_;
  std::uint64_t bytes_ = 0;
  base::Status status_;
};

}  // namespace headway::interchange
