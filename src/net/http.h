// One request and what came of it: the seam between the protocol and the network. The real one is
// curl_transport.h; tests have one that answers by a script.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headway::net {

// Names in lower case; in any order.
using Headers = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::size_t answer_bytes_max = 16 << 20;
inline constexpr std::size_t answer_headers_max = 256;

struct HttpRequest {
  std::string method;  // GET, HEAD, PUT, POST, DELETE
  std::string url;     // whole, encoded
  Headers headers;     // "host" among them
  std::span<const std::byte> body;
  // Where the body of an answer of 200 or 206 goes; one that does not fit is a failure. Empty: it
  // goes into the answer, as that of every other status does.
  std::span<std::byte> into;
  std::size_t body_bytes_max = answer_bytes_max;
};

struct HttpAnswer {
  int status = 0;
  Headers headers;             // names in lower case
  std::string body;            // what did not go into the request's memory
  std::size_t into_bytes = 0;  // what did, from its beginning

  // The first of that name; empty: none.
  [[nodiscard]] std::string_view header(std::string_view name) const {
    for (const auto& [each, value] : headers) {
      if (each == name) return value;
    }
    return {};
  }
};

enum class Failure : std::uint8_t {
  none,
  connect,   // no such host, nobody listens there
  cut,       // while it was under way
  stalled,   // nothing moved for too long
  too_long,  // more than there was room for
  tls,       // the other side is not who it should be
  other,
};

struct Exchange {
  HttpAnswer answer;  // after a failure, as far as it came
  Failure failure = Failure::none;
  std::string why;  // of a failure; without anything secret
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;
  // Any thread, several at once.
  virtual Exchange send(const HttpRequest& request) = 0;
};

}  // namespace headway::net
