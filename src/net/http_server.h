// An HTTP/1.1 server, with or without TLS: connections, limits and time-outs; what is answered is
// the handler's to say. Boost.Beast stays behind this header.
//
// Nothing that a client does can hold a thread, or more memory than its share: there is a limit on
// connections, on the bytes of all bodies together, and on the time that each part of a request
// may take. Beyond a limit a client is answered (or dropped) and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "net/http.h"

namespace headway::net {

struct ServerRequest {
  std::string method;
  std::string path;                                        // decoded; begins with '/'
  std::vector<std::pair<std::string, std::string>> query;  // decoded
  Headers headers;
  std::string body;
  std::string peer;  // its address, without the port

  // The first of that name; empty: none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  [[nodiscard]] const std::string* argument(std::string_view name) const;
};

struct ServerAnswer {
  int status = 200;
  std::string content_type;
  std::string body;
  Headers headers;  // besides the usual ones
};

// Many small texts over a connection that stays open (server-sent events). Any thread.
class AnswerStream {
 public:
  AnswerStream() = default;
  AnswerStream(const AnswerStream&) = delete;
  AnswerStream& operator=(const AnswerStream&) = delete;
  virtual ~AnswerStream() = default;
  // False: the client is gone, or too slow to be waited for.
  virtual bool write(std::string text) = 0;
  virtual void close() = 0;
};

// Where the answer goes: once, by any thread. One that is destroyed unanswered says 500.
class Reply {
 public:
  Reply() = default;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  virtual ~Reply() = default;
  virtual void send(ServerAnswer answer) = 0;
  virtual std::shared_ptr<AnswerStream> stream(ServerAnswer head) = 0;
};

struct Admission {
  std::optional<ServerAnswer> refusal;  // said before the body is read
  std::size_t body_bytes_max = 0;
};

// Called by the server's threads: must not block.
class RequestHandler {
 public:
  RequestHandler() = default;
  RequestHandler(const RequestHandler&) = delete;
  RequestHandler& operator=(const RequestHandler&) = delete;
  virtual ~RequestHandler() = default;
  // The request without its body.
  virtual Admission admit(const ServerRequest& head) = 0;
  virtual void handle(ServerRequest request, std::shared_ptr<Reply> reply) = 0;
};

// Somebody who was refused, or cut off, before the handler had the whole request.
struct Refusal {
  std::string peer, method, path;  // as far as they are known
  int status = 0;                  // 0: there was no answer
  std::string why;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any that is free
  int threads = 1;
  std::size_t connections_max = 12'000;
  std::size_t bodies_bytes_max = 256u << 20;  // of all requests that are not answered yet
  std::size_t header_bytes_max = 16u << 10;
  std::size_t stream_bytes_max = 1u << 20;  // that wait for one slow reader
  int header_timeout_s = 10;
  int body_timeout_s = 30;
  int write_timeout_s = 30;
  int idle_timeout_s = 75;
  std::string certificate_file, key_file;       // PEM; empty: no TLS
  std::function<void(const std::string&)> log;  // one line each: what went wrong on our side
  std::function<void(Refusal)> refused;         // by the server's threads: must not block
};

struct ServerCounts {
  std::uint64_t connections = 0;  // now
  std::uint64_t accepted = 0, requests = 0;
  std::uint64_t turned_away = 0;  // over a limit
  std::uint64_t timed_out = 0, malformed = 0;
};

class HttpServer {
 public:
  // Listens. The handler must outlive the server.
  static base::Result<std::unique_ptr<HttpServer>> start(ServerOptions options,
                                                         RequestHandler& handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] ServerCounts counts() const;
  // No new connections; what is being answered is, for so long; then all are closed.
  void stop(int grace_ms);

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace headway::net
