// Reading: whole small objects, and ranges of large ones side by side into memory that is there.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/crc32c.h"
#include "object_store/store.h"

namespace headway::object_store {
namespace {

using base::Result;
using base::Status;

// "bytes 5-9/100": 5.
std::optional<std::uint64_t> range_begin(std::string_view text) {
  constexpr std::string_view unit = "bytes ";
  if (!text.starts_with(unit)) return std::nullopt;
  text.remove_prefix(unit.size());
  std::uint64_t begin = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), begin);
  const bool all = error == std::errc() && end != text.data() + text.size() && *end == '-';
  return all ? std::optional(begin) : std::nullopt;
}

}  // namespace

Result<std::string> Store::get_text(const std::string& key, std::size_t bytes_max) {
  const Question question{.verb = "get",
                          .method = "GET",
                          .key = key,
                          .headers = {{"x-amz-checksum-mode", "ENABLED"}},
                          .body_bytes_max = bytes_max};
  const auto judge = [&](const net::HttpAnswer& answer) -> std::optional<Complaint> {
    const auto crc = crc32c_of_text(answer.header("x-amz-checksum-crc32c"));
    if (!crc || *crc == base::crc32c(answer.body.data(), answer.body.size())) return std::nullopt;
    return Complaint{Status::corrupt(fmt::format("get {}: its bytes do not have its checksum: it "
                                                 "is damaged in the store or on the way",
                                                 client_.place(key))),
                     true};
  };
  auto answer = client_.ask(question, judge);
  if (!answer.ok()) return answer.status();
  return std::move(answer->body);
}

Status Store::get(const std::string& key, const std::string& etag, std::uint64_t offset,
                  std::span<std::byte> into) {
  const std::uint64_t step = options_.range_bytes;
  const std::size_t count = (into.size() + step - 1) / step;
  std::atomic<bool> stop = false;
  return base::in_parallel(count, options_.connections, stop, [&](std::size_t, std::size_t index) {
    const std::uint64_t begin = index * step;
    const auto piece = into.subspan(begin, std::min<std::uint64_t>(step, into.size() - begin));
    return get_range(key, etag, offset + begin, piece, stop);
  });
}

Status Store::get_range(const std::string& key, const std::string& etag, std::uint64_t offset,
                        std::span<std::byte> into, const std::atomic<bool>& stop) {
  base::BackOff draw = client_.back_off();
  for (int tried = 1;; ++tried) {
    Question question{.verb = "get", .method = "GET", .key = key, .into = into};
    question.headers = {{"range", fmt::format("bytes={}-{}", offset, offset + into.size() - 1)}};
    if (!etag.empty()) question.headers.emplace_back("if-match", '"' + etag + '"');
    const net::Exchange exchange = client_.ask_once(question);
    const net::HttpAnswer& answer = exchange.answer;
    const Where where = client_.where(question, tried);
    const bool good = answer.status == 200 || answer.status == 206;
    Status status;
    bool again = true;
    if (good) {
      // Whatever happens next, these bytes are there: only the rest is asked for again.
      const auto begin = answer.status == 206 ? range_begin(answer.header("content-range"))
                                              : std::optional<std::uint64_t>(0);
      if (begin != offset) {
        return Status::io(
            fmt::format("get {}: bytes from {} on were asked for, others came: does "
                        "this store serve ranges?",
                        where.place, offset));
      }
      if (exchange.failure != net::Failure::too_long) {
        into = into.subspan(answer.into_bytes);
        offset += answer.into_bytes;
      }
      if (into.empty()) return {};
      status =
          Status::io(fmt::format("get {}: it ends at byte {}, more were expected: was it "
                                 "replaced?",
                                 where.place, offset));
    }
    if (exchange.failure != net::Failure::none) {
      status =
          failure_status(where, exchange.failure, cleaned(exchange.why, client_.credentials()));
      again = is_transient(exchange.failure);
    } else if (!good) {
      const StoreError error = read_error(answer, client_.credentials());
      status = error_status(where, answer.status, error);
      again = is_transient(answer.status, error.code);
    }
    if (!again || stop.load() || tried >= client_.retry().tries) return status;
    client_.wait(draw, answer);
  }
}

}  // namespace headway::object_store
