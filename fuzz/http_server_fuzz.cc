// Whatever a client writes, the server answers in HTTP or not at all, hands to its handler only
// requests whose parts are clean and whose bodies are not longer than was allowed, and closes. Real
// sockets on loopback: what is fuzzed is what serves.
//
// The first byte says in how many pieces the rest is written; then the client's side is closed, so
// that a request which never ends is over at once.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "collector/route.h"
#include "net/http_server.h"

namespace {

using namespace headway;

constexpr std::size_t body_bytes_max = 4096;
constexpr std::size_t input_bytes_max = 64 << 10;

bool is_clean(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte >= 0x7f;
  });
}

class Handler final : public net::RequestHandler {
 public:
  net::Admission admit(const net::ServerRequest& head) override {
    HW_CHECK(head.path.starts_with('/') && is_clean(head.path));
    HW_CHECK(head.body.empty());
    for (const auto& [name, value] : head.headers) {
      HW_CHECK(!name.empty() && value.find('\n') == std::string::npos);
    }
    const collector::Route route = collector::route_of(head.path);
    // Only what tells nothing of anybody is open, and there is one way to each place.
    if (route.open) HW_CHECK(!head.path.starts_with("/api/") || head.path.ends_with(".json"));
    if (!route.job.empty()) HW_CHECK(route.job.find('/') == std::string::npos);
    return {{}, body_bytes_max};
  }
  void handle(net::ServerRequest request, std::shared_ptr<net::Reply> reply) override {
    HW_CHECK(request.body.size() <= body_bytes_max);
    if (request.path == "/nobody") return;  // the reply says so itself
    net::ServerAnswer answer;
    answer.content_type = "text/plain";
    answer.body = std::to_string(request.body.size());
    reply->send(std::move(answer));
  }
};

std::uint16_t port() {
  static Handler handler;
  static const auto server = [] {
    net::ServerOptions options;
    options.header_bytes_max = 4096;
    auto started = net::HttpServer::start(options, handler);
    HW_CHECK(started.ok());
    return std::move(*started);
  }();
  return server->port();
}

base::UniqueFd client_socket() {
  base::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  HW_CHECK(fd.valid());
  // Closed at once on our side: thousands of them a minute would use up all ports.
  const linger at_once{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  const timeval patience{20, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return fd;
}

base::UniqueFd connect_to(std::uint16_t number) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(number);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (;;) {
    base::UniqueFd fd = client_socket();
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0) return fd;
    // libFuzzer's alarm came in between, or no port was free; it notices itself what takes too
    // long.
    if (errno != EINTR && errno != EADDRNOTAVAIL) {
      std::perror("connect");
      HW_CHECK(false);
    }
    ::usleep(1000);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > input_bytes_max) return 0;
  const std::size_t pieces = data[0] % 4u + 1;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const base::UniqueFd fd = connect_to(port());
  const std::size_t piece = rest.size() / pieces + 1;
  while (!rest.empty()) {
    const auto part = rest.substr(0, piece);
    rest.remove_prefix(part.size());
    // It may have heard enough.
    if (::send(fd.get(), part.data(), part.size(), MSG_NOSIGNAL) < 0) break;
  }
  ::shutdown(fd.get(), SHUT_WR);
  std::string said;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t bytes = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (bytes < 0 && errno == EINTR) continue;  // libFuzzer's alarm
    // Reset is what a server may do that has heard enough: ECONNRESET, EPIPE behind its own end,
    // ENOTCONN where sending was told already. Only that it took too long is wrong.
    if (bytes < 0 && errno != ECONNRESET && errno != EPIPE && errno != ENOTCONN) {
      std::perror("recv");
      HW_CHECK(false);
    }
    if (bytes <= 0) break;
    if (said.size() < buffer.size()) said.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  if (!said.empty()) HW_CHECK(said.starts_with("HTTP/1.1 "));
  return 0;
}
