#include "otlp/sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/plural.h"
#include "net/percent.h"
#include "otlp/answer.h"

namespace headway::otlp {
namespace {

using base::Result;
using base::Status;

constexpr std::string_view path_of(Signal signal) {
  return signal == Signal::traces ? "/v1/traces" : "/v1/metrics";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_header(std::string_view name, std::string_view value) {
  const auto is_token = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string::npos;
  };
  return !name.empty() && std::ranges::all_of(name, is_token) &&
         std::ranges::none_of(value, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

}  // namespace

Result<Endpoint> endpoint_of(std::string_view url, std::string_view headers) {
  Endpoint out;
  while (url.ends_with('/')) url.remove_suffix(1);
  out.url = url;
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return Status::invalid(
        fmt::format("--otlp {}: is no address of an OpenTelemetry collector; give one as in "
                    "http://127.0.0.1:4318",
                    url));
  }
  while (!headers.empty()) {
    const std::string_view pair = headers.substr(0, headers.find(','));
    headers.remove_prefix(std::min(pair.size() + 1, headers.size()));
    if (trimmed(pair).empty()) continue;
    const std::size_t equals = pair.find('=');
    std::string name(trimmed(pair.substr(0, equals)));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::string value = equals == std::string_view::npos
                                  ? std::string()
                                  : net::percent_decoded(trimmed(pair.substr(equals + 1)), false);
    if (equals == std::string_view::npos || !is_header(name, value)) {
      // Not shown: it may hold a secret.
      return Status::invalid(
          "OTEL_EXPORTER_OTLP_HEADERS: holds something that is no header; write NAME=VALUE, "
          "several with commas between them");
    }
    out.headers.emplace_back(std::move(name), value);
  }
  return out;
}

Sender::Sender(net::Transport& transport, Endpoint endpoint, std::uint64_t seed)
    : transport_(transport),
      endpoint_(std::move(endpoint)),
      back_off_(shortest_wait_ns, longest_wait_ns, seed) {}

bool Sender::offer(Signal signal, std::string body, std::uint64_t items) {
  if (signal == Signal::metrics) {
    metrics_ = Item{std::move(body), items};
    return true;
  }
  if (traces_.size() >= waiting_max || traces_bytes_ + body.size() > waiting_bytes_max) {
    of(signal).dropped += items;
    return false;
  }
  traces_bytes_ += body.size();
  traces_.push_back({std::move(body), items});
  return true;
}

void Sender::give_up() {
  for (const Item& item : traces_) of(Signal::traces).dropped += item.items;
  traces_.clear();
  traces_bytes_ = 0;
  if (metrics_) of(Signal::metrics).dropped += metrics_->items;
  metrics_.reset();
}

net::Exchange Sender::post(Signal signal, const Item& item) const {
  net::HttpRequest request;
  request.method = "POST";
  request.url = endpoint_.url + std::string(path_of(signal));
  request.headers = endpoint_.headers;
  request.headers.emplace_back("content-type", "application/x-protobuf");
  request.body = std::as_bytes(std::span(item.body));
  constexpr std::size_t answer_max = 64 << 10;
  request.body_bytes_max = answer_max;
  return transport_.send(request);
}

void Sender::take_away(Signal signal) {
  if (signal == Signal::metrics) return metrics_.reset();
  traces_bytes_ -= traces_.front().body.size();
  traces_.pop_front();
}

Sender::Round Sender::told(std::int64_t wait_ns, std::string note) {
  Round out{.wait_ns = wait_ns};
  if (note != last_note_) out.note = note;
  last_note_ = std::move(note);
  return out;
}

Sender::Round Sender::judge(Signal signal, const net::Exchange& exchange, std::int64_t now_ns) {
  const Item& item = signal == Signal::metrics ? *metrics_ : traces_.front();
  const std::string_view what = signal == Signal::metrics ? "data point" : "span";
  switch (verdict_of(exchange)) {
    case Verdict::taken: {
      back_off_.reset();
      const PartialSuccess partial = parse_partial_success(exchange.answer.body);
      const auto rejected = std::min<std::uint64_t>(item.items, partial.rejected);
      of(signal).rejected += rejected;
      of(signal).sent += item.items - rejected;
      take_away(signal);
      if (rejected == 0 && partial.message.empty()) return told(0, {});
      return told(
          0, fmt::format("{}: took all but {}: {}", endpoint_.url, base::plural(rejected, what),
                         partial.message.empty() ? "no reason given" : partial.message));
    }
    case Verdict::later: {
      ++counts_.retries;
      const auto asked_ns = retry_after_ns(exchange.answer);
      const std::int64_t wait_ns = std::max(back_off_.next_ns(), asked_ns.value_or(0));
      not_before_ns_ = now_ns + wait_ns;
      return told(wait_ns, exchange.failure != net::Failure::none
                               ? fmt::format("{}: {}; trying again", endpoint_.url, exchange.why)
                               : fmt::format("{}: says later (status {}); trying again",
                                             endpoint_.url, exchange.answer.status));
    }
    case Verdict::refused:
      break;
  }
  of(signal).refused += item.items;
  take_away(signal);
  return told(0, fmt::format("{}{}: will not have our {}s ({}); they are dropped", endpoint_.url,
                             path_of(signal), what,
                             exchange.failure != net::Failure::none
                                 ? exchange.why
                                 : fmt::format("status {}", exchange.answer.status)));
}

Sender::Round Sender::round(std::int64_t now_ns) {
  if (!metrics_ && traces_.empty()) return {.wait_ns = shortest_wait_ns, .idle = true};
  if (now_ns < not_before_ns_) return {.wait_ns = not_before_ns_ - now_ns};
  const Signal signal = metrics_ ? Signal::metrics : Signal::traces;
  ++counts_.requests;
  return judge(signal, post(signal, metrics_ ? *metrics_ : traces_.front()), now_ns);
}

}  // namespace headway::otlp
