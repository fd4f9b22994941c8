#include "net/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "net/curl_transport.h"

namespace headway::net {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Says what it was asked. "/slow" is answered by a thread, later; "/lost" by nobody.
class Echo final : public RequestHandler {
 public:
  ~Echo() override {
    for (std::thread& thread : threads_) thread.join();
  }
  Admission admit(const ServerRequest& head) override {
    if (head.header("authorization") == "Bearer wrong") {
      ServerAnswer no;
      no.status = 401;
      no.body = "no";
      return {no, 0};
    }
    return {{}, 100'000};
  }
  void handle(ServerRequest request, std::shared_ptr<Reply> reply) override {
    if (request.path == "/lost") return;
    if (request.path == "/stream") return stream(*reply);
    ServerAnswer answer;
    answer.content_type = "text/plain";
    answer.headers = {{"X-Peer", request.peer}};
    answer.body = fmt::format("{} {} {}", request.method, request.path, request.body);
    for (const auto& [name, value] : request.query) answer.body += " " + name + "=" + value;
    if (request.path == "/slow") {
      threads_.emplace_back([reply, answer = std::move(answer)] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        reply->send(answer);
      });
      return;
    }
    reply->send(std::move(answer));
    reply->send({});  // a second one is ignored
  }

 private:
  void stream(Reply& reply) {
    ServerAnswer head;
    head.content_type = "text/event-stream";
    threads_.emplace_back([stream = reply.stream(std::move(head))] {
      if (stream == nullptr) return;
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(stream->write(fmt::format("data: {}\n\n", i)));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      stream->close();
    });
  }
  std::vector<std::thread> threads_;
};

class Server : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    auto server = HttpServer::start(std::move(options), echo_);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
  }
  Exchange ask(const std::string& method, const std::string& target, std::string_view body = {},
               const Headers& headers = {}) {
    HttpRequest request;
    request.method = method;
    request.url = fmt::format("http://127.0.0.1:{}{}", server_->port(), target);
    request.headers = headers;
    request.body = std::as_bytes(std::span(body));
    return client_.send(request);
  }
  [[nodiscard]] base::UniqueFd connect() const {
    base::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  // All that comes until the server closes.
  static std::string read_all(int fd) {
    std::string text;
    char buffer[4096];
    for (long n = ::read(fd, buffer, sizeof(buffer)); n > 0; n = ::read(fd, buffer, sizeof(buffer)))
      text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }
  static void say(int fd, std::string_view text) {
    EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<long>(text.size()));
  }

  Echo echo_;
  CurlTransport client_{CurlOptions{}};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(Server, AnswersWhatItsHandlerSays) {
  start();
  const Exchange got = ask("GET", "/a%20b?x=1");
  EXPECT_EQ(got.failure, Failure::none) << got.why;
  EXPECT_EQ(got.answer.status, 200);
  EXPECT_EQ(got.answer.body, "GET /a b  x=1");
  EXPECT_EQ(got.answer.header("x-peer"), "127.0.0.1");
  EXPECT_EQ(got.answer.header("content-type"), "text/plain");
  EXPECT_EQ(ask("POST", "/", "hello").answer.body, "POST / hello");
  EXPECT_EQ(ask("PUT", "/slow", "later").answer.body, "PUT /slow later");
  EXPECT_EQ(ask("GET", "/lost").answer.status, 500);
  EXPECT_EQ(ask("HEAD", "/x").answer.body, "");
  EXPECT_EQ(server_->counts().requests, 5u);
  EXPECT_EQ(server_->counts().accepted, 1u);  // one connection for all
}

TEST_F(Server, RefusesBeforeTheBodyIsRead) {
  start();
  const std::string large(90'000, 'x');
  const Exchange refused = ask("POST", "/", large, {{"authorization", "Bearer wrong"}});
  EXPECT_EQ(refused.answer.status, 401) << refused.why;
  EXPECT_EQ(ask("POST", "/", large).answer.status, 200);
  EXPECT_EQ(ask("POST", "/", std::string(100'001, 'x')).answer.status, 413);
}

TEST_F(Server, ABodyWithoutALengthHasALimitToo) {
  start();
  const base::UniqueFd fd = connect();
  say(fd.get(), "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "8000\r\n" + std::string(0x8000, 'x') + "\r\n";
  for (int i = 0; i < 4; ++i) ::send(fd.get(), chunk.data(), chunk.size(), MSG_NOSIGNAL);
  EXPECT_THAT(read_all(fd.get()), StartsWith("HTTP/1.1 413"));
}

TEST_F(Server, WhatIsNoRequestIsTold) {
  start();
  for (const std::string_view text :
       {"nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nBad Header\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n"}) {
    const base::UniqueFd fd = connect();
    say(fd.get(), text);
    EXPECT_THAT(read_all(fd.get()), StartsWith("HTTP/1.1 400")) << text;
  }
  const base::UniqueFd fd = connect();
  say(fd.get(), "GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  EXPECT_THAT(read_all(fd.get()), StartsWith("HTTP/1.1 431"));
  EXPECT_EQ(server_->counts().malformed, 7u);
}

TEST_F(Server, SlowClientsAreCutOff) {
  ServerOptions options;
  options.header_timeout_s = 1;
  options.body_timeout_s = 1;
  options.idle_timeout_s = 1;
  std::mutex mutex;
  std::vector<std::string> lines;
  options.refused = [&](const Refusal& refusal) {
    const std::lock_guard lock(mutex);
    lines.push_back(fmt::format("{} {} {} {}: {}", refusal.peer, refusal.method, refusal.path,
                                refusal.status, refusal.why));
  };
  start(std::move(options));
  const base::UniqueFd silent = connect(), half = connect(), body = connect();
  say(half.get(), "GET / HTTP/1.1\r\nHos");
  say(body.get(), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123");
  read_all(silent.get());
  read_all(half.get());
  read_all(body.get());
  // A connection is closed a moment before it is counted.
  while (server_->counts().timed_out < 3) std::this_thread::yield();
  EXPECT_EQ(ask("GET", "/").answer.status, 200);
  const std::lock_guard lock(mutex);
  EXPECT_THAT(lines, ::testing::UnorderedElementsAre("127.0.0.1   0: request took too long",
                                                     "127.0.0.1   0: request took too long",
                                                     "127.0.0.1 POST / 0: body took too long"));
}

// The server's end of a client's connection: both are of this process.
int other_end(int client) {
  sockaddr_in own{}, peer{};
  socklen_t bytes = sizeof(own);
  EXPECT_EQ(::getsockname(client, reinterpret_cast<sockaddr*>(&own), &bytes), 0);
  for (int fd = 0; fd < 1024; ++fd) {
    bytes = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 &&
        peer.sin_family == AF_INET && peer.sin_port == own.sin_port) {
      return fd;
    }
  }
  return -1;
}

int option_of(int fd, int level, int name) {
  int value = -1;
  socklen_t bytes = sizeof(value);
  EXPECT_EQ(::getsockopt(fd, level, name, &value, &bytes), 0);
  return value;
}

TEST_F(Server, ClientsWhoseMachineIsGoneAreFoundOut) {
  start();
  const base::UniqueFd client = connect();
  say(client.get(), "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  char first = 0;
  ASSERT_EQ(::read(client.get(), &first, 1), 1);  // it has been accepted
  const int server = other_end(client.get());
  ASSERT_GE(server, 0);
  EXPECT_EQ(option_of(server, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option_of(server, IPPROTO_TCP, TCP_KEEPIDLE), 30);
  EXPECT_EQ(option_of(server, IPPROTO_TCP, TCP_KEEPINTVL), 10);
  EXPECT_EQ(option_of(server, IPPROTO_TCP, TCP_KEEPCNT), 3);
  EXPECT_EQ(option_of(server, IPPROTO_TCP, TCP_USER_TIMEOUT), 60'000);
}

TEST_F(Server, ConnectionsBeyondTheLimitAreTurnedAway) {
  ServerOptions options;
  options.connections_max = 20;
  start(std::move(options));
  std::vector<base::UniqueFd> many;
  for (int i = 0; i < 50; ++i) many.push_back(connect());
  while (server_->counts().accepted < 50) std::this_thread::yield();
  EXPECT_EQ(server_->counts().connections, 20u);
  EXPECT_EQ(server_->counts().turned_away, 30u);
  many.clear();
  while (server_->counts().connections > 0) std::this_thread::yield();
  EXPECT_EQ(ask("GET", "/").answer.status, 200);
}

TEST_F(Server, BodiesBeyondTheirCommonRoomAreAskedToWait) {
  ServerOptions options;
  options.bodies_bytes_max = 100;
  start(std::move(options));
  const Exchange busy = ask("POST", "/", std::string(101, 'x'));
  EXPECT_EQ(busy.answer.status, 503);
  EXPECT_EQ(busy.answer.header("retry-after"), "1");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask("POST", "/", std::string(99, 'x')).answer.status, 200);
}

TEST_F(Server, StreamsManyAnswers) {
  start();
  const base::UniqueFd fd = connect();
  say(fd.get(), "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string all = read_all(fd.get());
  EXPECT_THAT(all, HasSubstr("text/event-stream"));
  EXPECT_THAT(all, HasSubstr("data: 0\n\n"));
  EXPECT_THAT(all, HasSubstr("data: 2\n\n"));
}

// The head of a stream is all that is asked for, and the connection ends with it.
TEST_F(Server, AStreamsHeadAlone) {
  start();
  const base::UniqueFd fd = connect();
  say(fd.get(), "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string all = read_all(fd.get());
  EXPECT_THAT(all, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(all, HasSubstr("text/event-stream"));
  EXPECT_TRUE(all.ends_with("\r\n\r\n")) << all;
  EXPECT_EQ(all.find("\r\n\r\n"), all.size() - 4) << all;
}

// Each is told, once, to who wants to know.
TEST_F(Server, RefusalsAreTold) {
  std::mutex mutex;
  std::vector<std::string> told;
  ServerOptions options;
  options.bodies_bytes_max = 1000;
  options.connections_max = 1;
  options.refused = [&](const Refusal& refusal) {
    const std::lock_guard lock(mutex);
    told.push_back(
        fmt::format("{} {} {} {}", refusal.peer, refusal.method, refusal.path, refusal.status));
  };
  start(std::move(options));
  {
    const base::UniqueFd first = connect();
    while (server_->counts().connections < 1) std::this_thread::yield();
    const base::UniqueFd second = connect();
    read_all(second.get());
  }
  const auto one = [&](std::string_view text) {
    while (server_->counts().connections > 0) std::this_thread::yield();
    const base::UniqueFd fd = connect();
    say(fd.get(), text);
    return read_all(fd.get()).substr(9, 3);
  };
  EXPECT_EQ(one("POST /long HTTP/1.1\r\nContent-Length: 100001\r\n\r\n"), "413");
  EXPECT_EQ(one("POST /busy HTTP/1.1\r\nContent-Length: 1001\r\n\r\n"), "503");
  EXPECT_EQ(one("GET /%00 HTTP/1.1\r\n\r\n"), "400");
  EXPECT_EQ(one("nonsense\r\n\r\n"), "400");
  EXPECT_EQ(one("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"), "431");
  const std::lock_guard lock(mutex);
  EXPECT_THAT(told, ::testing::ElementsAre("127.0.0.1   0", "127.0.0.1 POST /long 413",
                                           "127.0.0.1 POST /busy 503",
                                           std::string("127.0.0.1 GET /\0 400", 20),
                                           "127.0.0.1   400", "127.0.0.1   431"));
}

TEST_F(Server, ManyClientsAtOnce) {
  ServerOptions options;
  options.threads = 2;
  start(std::move(options));
  std::atomic<int> good{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 100; ++i) {
        const std::string body = fmt::format("{} {}", c, i);
        const Exchange got = ask("POST", "/p", body);
        good += got.answer.body == "POST /p " + body ? 1 : 0;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 800);
}

TEST(ServerStart, SaysWhyItCannot) {
  Echo echo;
  ServerOptions options;
  options.address = "nowhere";
  auto none = HttpServer::start(options, echo);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("nowhere: is no address"));
  options.address = "127.0.0.1";
  options.certificate_file = "/no/such.pem";
  options.key_file = "/no/such.key";
  none = HttpServer::start(options, echo);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), StartsWith("/no/such.pem: cannot be read"));
  auto one = HttpServer::start(ServerOptions{}, echo);
  ASSERT_TRUE(one.ok());
  ServerOptions same;
  same.port = (*one)->port();
  none = HttpServer::start(same, echo);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("cannot listen there"));
}

}  // namespace
}  // namespace headway::net
