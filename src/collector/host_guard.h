// Who needs no token is known by where the request comes from, and a web page that is open in a
// browser on this machine can make it send requests: to any name that it has pointed to 127.0.0.1
// (DNS rebinding), and from its own origin. Neither may be taken for somebody of this machine.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "net/http_server.h"

namespace headway::collector {

// Whether only this machine can reach what listens there.
[[nodiscard]] bool is_loopback(const std::string& address);

// "localhost:8743", "127.0.0.1", "[::1]:8743", …: a name that nobody can point elsewhere.
[[nodiscard]] bool is_loopback_host(std::string_view host);

struct Misled {
  int status = 0;  // 0: not misled
  std::string why;
};
// Of a request for which no token is needed. `json_only`: the place takes JSON and changes
// something.
[[nodiscard]] Misled misled(const net::ServerRequest& head, bool json_only);

}  // namespace headway::collector
