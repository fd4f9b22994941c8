// Requests on their way to an OTLP endpoint, by HTTP: kept in order while the endpoint is away or
// says later, sent again after a wait that grows (or that it asks for), dropped and counted where
// it will not have them or where there are too many. A reading of metrics takes the place of one
// that still waits, since counters lose nothing by it.
//
// Time comes in as an argument; what a round wants next it says. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/back_off.h"
#include "base/status.h"
#include "net/http.h"

namespace headway::otlp {

enum class Signal : std::uint8_t { traces, metrics };
inline constexpr std::size_t kSignals = 2;

struct Endpoint {
  std::string url;       // "http://127.0.0.1:4318"; /v1/traces and /v1/metrics are ours to add
  net::Headers headers;  // besides the usual ones
};
// `headers`: "api-key=secret,x=y" as in OTEL_EXPORTER_OTLP_HEADERS, percent-encoded.
[[nodiscard]] base::Result<Endpoint> endpoint_of(std::string_view url, std::string_view headers);

// Spans, or data points.
struct SignalCounts {
  std::uint64_t sent = 0;      // of them, taken
  std::uint64_t rejected = 0;  // of a request that was taken otherwise
  std::uint64_t refused = 0;   // with the request that they were in
  std::uint64_t dropped = 0;   // for want of room, or of time at the end
};
struct SenderCounts {
  std::array<SignalCounts, kSignals> signals;
  std::uint64_t requests = 0, retries = 0;
  [[nodiscard]] const SignalCounts& of(Signal signal) const {
    return signals[static_cast<std::size_t>(signal)];
  }
};

class Sender {
 public:
  static constexpr std::size_t waiting_max = 1000;             // requests of spans
  static constexpr std::size_t waiting_bytes_max = 32u << 20;  // and their bytes
  static constexpr std::int64_t shortest_wait_ns = 1'000'000'000;
  static constexpr std::int64_t longest_wait_ns = 60'000'000'000;

  Sender(net::Transport& transport, Endpoint endpoint, std::uint64_t seed);

  // `items`: how many spans or data points are in it. False: there is no room.
  bool offer(Signal signal, std::string body, std::uint64_t items);

  struct Round {
    std::int64_t wait_ns = 0;  // until the next one; 0: there is more to send
    bool idle = false;         // there was nothing to send
    std::string note = {};     // one line for a person, when something has changed
  };
  Round round(std::int64_t now_ns);

  [[nodiscard]] const SenderCounts& counts() const { return counts_; }
  [[nodiscard]] std::size_t waiting() const { return traces_.size() + (metrics_ ? 1 : 0); }
  // What waits will not be sent any more.
  void give_up();

 private:
  struct Item {
    std::string body;
    std::uint64_t items = 0;
  };
  SignalCounts& of(Signal signal) { return counts_.signals[static_cast<std::size_t>(signal)]; }
  [[nodiscard]] net::Exchange post(Signal signal, const Item& item) const;
  void take_away(Signal signal);
  Round judge(Signal signal, const net::Exchange& exchange, std::int64_t now_ns);
  Round told(std::int64_t wait_ns, std::string note);

  net::Transport& transport_;
  const Endpoint endpoint_;
  base::BackOff back_off_;
  std::deque<Item> traces_;
  std::size_t traces_bytes_ = 0;
  std::optional<Item> metrics_;
  std::int64_t not_before_ns_ = INT64_MIN;
  std::string last_note_;
  SenderCounts counts_;
};

}  // namespace headway::otlp
