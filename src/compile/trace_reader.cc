#include "compile/trace_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"
#include "compile/log_pieces.h"

namespace headway::compile {

// The MD5 of a payload as torch counts it: its lines without their tabs.
class TraceReader::Digest {
 public:
  void begin() {
    std::array<std::uint8_t, kMd5Bytes> unread{};
    if (!first_) stream_.finish(unread);  // of a payload that nobody compared
    first_ = true;
  }
  void add(std::string_view text, bool new_line) {
    if (new_line && !first_) update("\n");
    first_ = false;
    update(text);
  }
  [[nodiscard]] bool equals(std::string_view hex) {
    std::array<std::uint8_t, kMd5Bytes> digest{};
    stream_.finish(digest);
    first_ = true;
    return base::hex(digest) == hex;
  }

 private:
  static constexpr std::size_t kMd5Bytes = 16;
  void update(std::string_view text) {
    stream_.add(std::as_bytes(std::span(text.data(), text.size())));
  }
  base::HashStream stream_{base::HashKind::md5};
  bool first_ = true;
};

base::Result<TraceReader> TraceReader::open(const std::string& path, TraceReadOptions options) {
  auto pieces = pieces_of(path);
  if (!pieces.ok()) return pieces.status();
  const std::string first = pieces->empty() ? path : pieces->front();
  if (!pieces->empty()) pieces->erase(pieces->begin());
  base::UniqueFd fd(::open(first.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return base::errno_status(first, "cannot open", errno);
  (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return TraceReader(path, std::move(fd), options, std::move(*pieces));
}

TraceReader::TraceReader(std::string path, base::UniqueFd fd, TraceReadOptions options,
                         std::vector<std::string> following)
    : path_(path),
      window_(std::move(path), std::move(fd), std::move(following)),
      options_(options) {
  if (options_.verify) digest_ = std::make_unique<Digest>();
}
TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;

TraceReader::Line TraceReader::find_line(std::size_t from, std::size_t bytes_max,
                                         std::size_t& bytes) {
  std::size_t scanned = 0;
  for (;;) {
    const std::string_view held = window_.held().substr(from);
    const void* found = held.size() == scanned
                            ? nullptr
                            : std::memchr(held.data() + scanned, '\n', held.size() - scanned);
    if (found != nullptr) {
      bytes = static_cast<std::size_t>(static_cast<const char*>(found) - held.data());
      return bytes > bytes_max ? Line::too_long : Line::whole;
    }
    scanned = bytes = held.size();
    if (bytes > bytes_max) return Line::too_long;
    if (window_.more()) continue;
    return bytes == 0 ? Line::none : Line::unended;
  }
}

// Whatever its length.
void TraceReader::skip_line() {
  ++counts_.lines;
  for (;;) {
    const std::string_view held = window_.held();
    const std::size_t at = held.find('\n');
    const std::size_t bytes = at == std::string_view::npos ? held.size() : at + 1;
    counts_.bytes += bytes;
    window_.drop(bytes);
    if (at != std::string_view::npos || !window_.more()) return;
  }
}

void TraceReader::count_bad(std::uint64_t& counter) {
  ++counter;
  if (counts_.first_bad_line == 0) counts_.first_bad_line = counts_.lines + 1;
}

// Goes over the lines behind a tab. What is more than may be kept is cut out of the window.
TraceReader::Extent TraceReader::measure_payload(std::size_t head, bool ended) {
  Extent out;
  out.head = head;
  out.torn = !ended;
  out.payload = out.end = std::min(head + 1, window_.held().size());
  out.lines = 1;
  if (digest_) digest_->begin();
  bool in_line = false;
  while (ended) {
    if (window_.held().size() == out.end && !window_.more()) {
      out.torn = in_line;
      break;
    }
    std::string_view rest = window_.held().substr(out.end);
    if (!in_line && rest.front() != '\t') break;
    const void* found = std::memchr(rest.data(), '\n', rest.size());
    if (found != nullptr) {
      rest =
          rest.substr(0, static_cast<std::size_t>(static_cast<const char*>(found) - rest.data()));
    }
    if (digest_) digest_->add(in_line ? rest : rest.substr(1), !in_line);
    in_line = found == nullptr;
    const std::size_t step = rest.size() + (in_line ? 0 : 1);
    out.lines += in_line ? 0 : 1;
    out.bytes += step;
    out.end += step;
    if (const std::size_t length = out.end - out.payload; length > kPayloadBytesMax) {
      window_.cut(out.payload + kPayloadBytesMax, length - kPayloadBytesMax);
      out.end = out.payload + kPayloadBytesMax;
    }
  }
  out.kept = out.end - out.payload;
  return out;
}

bool TraceReader::make(const Extent& extent, TraceRecord& record) {
  const std::string_view held = window_.held();
  const auto prefix = parse_prefix(held.substr(0, extent.head));
  HW_CHECK(prefix.has_value());
  record.prefix = *prefix;
  record.line = counts_.lines + 1;
  record.payload = held.substr(extent.payload, extent.kept);
  if (record.payload.ends_with('\n')) record.payload.remove_suffix(1);
  record.payload_at = window_.position() + extent.payload;
  record.json_at =
      window_.position() + static_cast<std::uint64_t>(prefix->json.data() - held.data());
  record.payload_bytes = extent.bytes;
  if (!parser_.parse(prefix->json, record.envelope)) {
    count_bad(extent.torn ? counts_.torn_records : counts_.bad_records);
    return false;
  }
  if (extent.torn) count_bad(counts_.torn_records);
  if (extent.bytes > extent.kept) count_bad(counts_.cut_payloads);
  const std::string_view md5 = record.envelope.payload_md5;
  if (!md5.empty() && extent.bytes == 0) count_bad(counts_.missing_payloads);
  if (digest_ && !md5.empty() && extent.bytes > 0 && !extent.torn) {
    if (digest_->equals(md5)) {
      ++counts_.verified_payloads;
    } else {
      count_bad(counts_.wrong_payloads);
    }
  }
  return true;
}

bool TraceReader::next(TraceRecord& record) {
  if (pending_ > 0) {
    window_.drop(pending_);
    pending_ = 0;
  }
  for (;;) {
    std::size_t head = 0;
    if (window_.held().empty() && !window_.more()) return false;
    if (window_.held().front() == '\t') {
      count_bad(counts_.stray_lines);
      skip_line();
      continue;
    }
    const Line line = find_line(0, kHeadBytesMax, head);
    if (line == Line::none) return false;
    const std::string_view text = window_.held().substr(0, head);
    if (line == Line::too_long || !parse_prefix(text)) {
      count_bad(line == Line::too_long  ? counts_.bad_records
                : line == Line::unended ? counts_.torn_records
                                        : counts_.foreign_lines);
      skip_line();
      continue;
    }
    const Extent extent = measure_payload(head, line == Line::whole);
    const bool made = make(extent, record);
    counts_.lines += extent.lines;
    counts_.bytes += extent.payload + extent.bytes;
    if (!made) {
      window_.drop(extent.end);
      continue;
    }
    ++counts_.records;
    pending_ = extent.end;
    return true;
  }
}

std::string payload_text(std::string_view payload) {
  std::string out;
  out.reserve(payload.size());
  for (bool more = !payload.empty(); more;) {
    const std::size_t at = payload.find('\n');
    std::string_view line = payload.substr(0, at);
    if (line.starts_with('\t')) line.remove_prefix(1);
    out += line;
    more = at != std::string_view::npos;
    if (more) {
      out += '\n';
      payload.remove_prefix(at + 1);
    }
  }
  return out;
}

}  // namespace headway::compile
