#include "otlp/answer.h"

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/cut_text.h"
#include "interchange/json_text.h"

namespace headway::otlp {
namespace {

// One field after another; stops at the first that makes no sense.
class Fields {
 public:
  explicit Fields(std::string_view message) : left_(message) {}

  bool next() {
    std::uint64_t key = 0;
    if (left_.empty() || !varint(key)) return false;
    field = key >> 3;
    number = 0;
    bytes = {};
    switch (key & 7) {
      case 0:
        return varint(number);
      case 1:
        return skip(8);
      case 2:
        return varint(number) && cut(number);
      case 5:
        return skip(4);
      default:
        return false;
    }
  }

  std::uint64_t field = 0;
  std::uint64_t number = 0;
  std::string_view bytes;

 private:
  bool varint(std::uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) return false;
      const auto byte = static_cast<std::uint8_t>(left_.front());
      left_.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool cut(std::uint64_t size) {
    if (size > left_.size()) return false;
    bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }
  bool skip(std::uint64_t size) {
    const bool whole = cut(size);
    bytes = {};
    return whole;
  }

  std::string_view left_;
};

std::string one_line(std::string_view text) {
  std::string out = interchange::valid_utf8(text);
  std::ranges::replace_if(out, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return std::string(base::cut_text(out, partial_message_max));
}

}  // namespace

PartialSuccess parse_partial_success(std::string_view bytes) {
  PartialSuccess out;
  Fields answer(bytes);
  while (answer.next()) {
    if (answer.field != 1) continue;
    Fields partial(answer.bytes);
    while (partial.next()) {
      if (partial.field == 1) {
        out.rejected = std::max<std::int64_t>(0, static_cast<std::int64_t>(partial.number));
      } else if (partial.field == 2) {
        out.message = one_line(partial.bytes);
      }
    }
  }
  return out;
}

Verdict verdict_of(const net::Exchange& exchange) {
  if (exchange.failure != net::Failure::none) {
    // A certificate that is not the right one will not be so the next time.
    return exchange.failure == net::Failure::tls ? Verdict::refused : Verdict::later;
  }
  const int status = exchange.answer.status;
  if (status >= 200 && status < 300) return Verdict::taken;
  const bool later = status == 429 || status == 502 || status == 503 || status == 504;
  return later ? Verdict::later : Verdict::refused;
}

std::optional<std::int64_t> retry_after_ns(const net::HttpAnswer& answer) {
  const std::string_view text = answer.header("retry-after");
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0) return {};
  return std::min<std::int64_t>(seconds, 3600) * base::kNsPerSecond;
}

}  // namespace headway::otlp
