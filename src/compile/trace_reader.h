// Reads one TORCH_TRACE log record by record, in bounded memory whatever its size: a chunk of the
// file is held, and of a payload at most kPayloadBytesMax bytes. A file that is still written, was
// cut anywhere, or has other people's lines in it is read as far as it goes; what is wrong is
// counted (TraceCounts), nothing is an error but a file that cannot be read. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "compile/byte_window.h"
#include "compile/trace_line.h"

namespace headway::compile {

inline constexpr std::size_t kHeadBytesMax = std::size_t{16} << 20;     // a record's first line
inline constexpr std::size_t kPayloadBytesMax = std::size_t{32} << 20;  // what is kept of a payload

struct TraceCounts {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t records = 0;
  std::uint64_t foreign_lines = 0;      // neither a record's first line nor one of a payload
  std::uint64_t stray_lines = 0;        // of a payload whose record is not there
  std::uint64_t bad_records = 0;        // a first line that is no JSON of ours, or is too long
  std::uint64_t torn_records = 0;       // at the end of the file: cut off
  std::uint64_t missing_payloads = 0;   // one was announced and none follows
  std::uint64_t cut_payloads = 0;       // longer than kPayloadBytesMax
  std::uint64_t wrong_payloads = 0;     // whose MD5 is another; with `verify`
  std::uint64_t verified_payloads = 0;  // whose MD5 is the one that torch wrote; with `verify`
  std::uint64_t first_bad_line = 0;     // number of the first line that is any of these; 0: none
};

struct TraceRecord {
  LinePrefix prefix;
  Envelope envelope;
  std::uint64_t line = 0;  // number of its first line, from 1
  // As it is in the file, a tab before each line, none at the end of the last; JSON takes tabs for
  // white space. Padded for simdjson. At most kPayloadBytesMax; payload_bytes is the whole length.
  std::string_view payload;
  std::uint64_t payload_at = 0;  // place in the file
  std::uint64_t json_at = 0;     // of prefix.json
  std::uint64_t payload_bytes = 0;
};

class TraceRoom;

struct TraceReadOptions {
  bool verify = false;        // compare payloads with their MD5
  bool sources = false;       // fold_file: keep what every compilation takes (ProcessLog::uses)
  std::int32_t rank = -1;     // read_logs: of other ranks no more than which they are
  TraceRoom* room = nullptr;  // that all logs share (trace_room.h); none: read_logs has its own
};

class TraceReader {
 public:
  // A log with all its pieces (log_pieces.h); places are counted from the first one's beginning.
  static base::Result<TraceReader> open(const std::string& path, TraceReadOptions options = {});
  // An open file from its current place on; `path` is for messages. `following`: ByteWindow's.
  TraceReader(std::string path, base::UniqueFd fd, TraceReadOptions options = {},
              std::vector<std::string> following = {});
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;

  // Views of the record are valid until the next call. False at the end, or after a read error:
  // then ask status().
  bool next(TraceRecord& record);

  [[nodiscard]] const TraceCounts& counts() const { return counts_; }
  [[nodiscard]] const base::Status& status() const { return window_.status(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  class Digest;
  // Where the parts of a record are, from the front of the window.
  struct Extent {
    std::size_t head = 0;     // bytes of the first line, without its line break
    std::size_t payload = 0;  // where the payload begins
    std::size_t kept = 0;     // bytes of it that are held
    std::uint64_t bytes = 0;  // and all there are
    std::uint64_t lines = 0;  // of the record
    std::size_t end = 0;      // of the record, in the window
    bool torn = false;        // its last line has no end
  };

  enum class Line : std::uint8_t { whole, unended, too_long, none };
  // The line that begins `from` bytes into the window; `bytes`: its length.
  Line find_line(std::size_t from, std::size_t bytes_max, std::size_t& bytes);
  void skip_line();
  Extent measure_payload(std::size_t head, bool ended);
  // Turns what was measured into a record. False: it is none.
  bool make(const Extent& extent, TraceRecord& record);
  void count_bad(std::uint64_t& counter);

  std::string path_;
  ByteWindow window_;
  TraceReadOptions options_;
  std::size_t pending_ = 0;  // of the window: the record that was handed out last
  EnvelopeParser parser_;
  std::unique_ptr<Digest> digest_;
  TraceCounts counts_;
};

// The text of a payload: without the tab before each line.
[[nodiscard]] std::string payload_text(std::string_view payload);

}  // namespace headway::compile
