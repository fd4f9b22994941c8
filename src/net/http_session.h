// One connection of the server, over a plain or an encrypted stream. Only for http_server.cc: its
// headers are heavy. All of a session runs on its strand; replies come in from anywhere.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "net/http_server.h"
#include "net/percent.h"

namespace headway::net::detail {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

// What sessions share.
struct Shared {
  ServerOptions options;
  RequestHandler* handler = nullptr;
  std::atomic<bool> stopping{false};
  std::atomic<std::uint64_t> connections{0}, accepted{0}, requests{0}, turned_away{0}, timed_out{0},
      malformed{0};
  std::atomic<std::size_t> bodies_bytes{0};

  void log(const std::string& line) const {
    if (options.log) options.log(line);
  }
  void refused(Refusal refusal) const {
    if (options.refused) options.refused(std::move(refusal));
  }
};

// Takes a part of the room for bodies, and gives it back.
class BodyRoom {
 public:
  explicit BodyRoom(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~BodyRoom() { release(); }
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;
  bool take(std::size_t bytes) {
    release();
    if (shared_->bodies_bytes.fetch_add(bytes) + bytes > shared_->options.bodies_bytes_max) {
      shared_->bodies_bytes -= bytes;
      return false;
    }
    bytes_ = bytes;
    return true;
  }
  void release() { shared_->bodies_bytes -= std::exchange(bytes_, 0); }

 private:
  std::shared_ptr<Shared> shared_;
  std::size_t bytes_ = 0;
};

ServerAnswer plain_error(int status, std::string_view text);

template <typename Stream>
class Session : public std::enable_shared_from_this<Session<Stream>> {
 public:
  template <typename... Arguments>
  Session(std::shared_ptr<Shared> shared, Tcp::socket socket, Arguments&... arguments)
      : shared_(std::move(shared)), room_(shared_), stream_(std::move(socket), arguments...) {
    ++shared_->connections;
    beast::error_code ignored;
    const auto peer = lowest().socket().remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string();
  }
  ~Session() { --shared_->connections; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void run() {
    asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] { self->begin(); });
  }

 private:
  class SessionReply;
  class SessionStream;
  using Parser = http::request_parser<http::string_body>;

  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }
  void expires_after(int seconds) { lowest().expires_after(std::chrono::seconds(seconds)); }

  void begin() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      expires_after(shared_->options.header_timeout_s);
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](beast::error_code error) {
                                if (is_plain_http(error)) return self->refuse_plain();
                                if (error) return self->no_handshake(error);
                                self->read_header(true);
                              });
    } else {
      read_header(true);
    }
  }

  static bool is_plain_http(beast::error_code error) {
    return error.category() == asio::error::get_ssl_category() &&
           ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
  }
  // Whoever forgot the "s" is told so in words that it understands.
  void refuse_plain() {
    ++shared_->malformed;
    shared_->refused({peer_, {}, {}, 400, "speaks http, and this port takes https"});
    static constexpr std::string_view kAnswer =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n"
        "Content-Length: 44\r\n\r\n{\"error\":\"this port takes https, not http\"}\n";
    expires_after(shared_->options.write_timeout_s);
    asio::async_write(lowest(), asio::buffer(kAnswer),
                      [self = this->shared_from_this()](beast::error_code, std::size_t) {
                        beast::error_code ignored;
                        self->lowest().socket().shutdown(Tcp::socket::shutdown_send, ignored);
                        self->linger();
                      });
  }

  // Somebody who goes without a word has asked for nothing, as one who looks whether a port is
  // open.
  void no_handshake(beast::error_code error) {
    if (error == beast::error::timeout) return failed(error, "TLS handshake");
    if (BIO_number_read(SSL_get_rbio(stream_.native_handle())) > 0) {
      ++shared_->malformed;
      shared_->refused({peer_, {}, {}, 0, "no TLS handshake: " + error.message()});
    }
    close();
  }

  // A request that has begun gets less time than a connection that is kept for the next one.
  void read_header(bool first) {
    if (shared_->stopping) return close();
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_->options.header_bytes_max));
    parser_->body_limit(UINT64_MAX);  // until the handler has seen the head
    const bool begun = first || buffer_.size() > 0;
    expires_after(begun ? shared_->options.header_timeout_s : shared_->options.idle_timeout_s);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this(), begun](beast::error_code error, std::size_t) {
          if (error == http::error::end_of_stream) return self->close();
          // An idle connection that ends is nobody's fault.
          if (error == beast::error::timeout && !begun) return self->close();
          if (error) return self->failed(error, "request");
          self->on_header();
        });
  }

  void on_header() {
    ++shared_->requests;
    const auto& message = parser_->get();
    keep_alive_ = message.keep_alive();
    request_ = {};
    request_.peer = peer_;
    request_.method = std::string(message.method_string());
    const std::string_view target(message.target().data(), message.target().size());
    if (!split_target(target, request_.path, request_.query)) {
      ++shared_->malformed;
      return refuse_for(400, "the request's target cannot be read");
    }
    for (const auto& field : message) {
      std::string name(field.name_string());
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      request_.headers.emplace_back(std::move(name), std::string(field.value()));
    }
    Admission admission = shared_->handler->admit(request_);
    if (admission.refusal) return refuse(std::move(*admission.refusal));
    const auto length = parser_->content_length();
    if (length && *length > admission.body_bytes_max) {
      return refuse_for(413, "the body is longer than this place takes");
    }
    if (parser_->is_done()) return answer();
    if (!room_.take(length ? static_cast<std::size_t>(*length) : admission.body_bytes_max)) {
      ++shared_->turned_away;
      return refuse_for(503, "too many requests are under way", {{"Retry-After", "1"}});
    }
    parser_->body_limit(admission.body_bytes_max);
    if (beast::iequals(message[http::field::expect], "100-continue")) return send_continue();
    read_body();
  }

  void send_continue() {
    continue_ = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
    expires_after(shared_->options.write_timeout_s);
    http::async_write(stream_, *continue_,
                      [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                        if (error) return self->failed(error, "answer");
                        self->read_body();
                      });
  }

  void read_body() {
    expires_after(shared_->options.body_timeout_s);
    http::async_read(stream_, buffer_, *parser_,
                     [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                       if (error == http::error::body_limit) {
                         return self->refuse_for(413, "the body is longer than this place takes");
                       }
                       if (error) return self->failed(error, "body");
                       self->answer();
                     });
  }

  void answer() {
    lowest().expires_never();
    request_.body = std::move(parser_->get().body());
    shared_->handler->handle(std::move(request_),
                             std::make_shared<SessionReply>(this->shared_from_this()));
  }

  // Before the body was read: what follows on the connection is not a request.
  void refuse(ServerAnswer answer) {
    keep_alive_ = false;
    write(std::move(answer));
  }

  // And nobody but this server knows of it.
  void refuse_for(int status, const std::string& why, const Headers& headers = {}) {
    shared_->refused({peer_, request_.method, request_.path, status, why});
    ServerAnswer answer = plain_error(status, why);
    answer.headers.insert(answer.headers.end(), headers.begin(), headers.end());
    refuse(std::move(answer));
  }

  void fill_head(http::response_header<>& head, const ServerAnswer& answer) const {
    head.version(11);
    head.result(static_cast<unsigned>(answer.status));
    if (!answer.content_type.empty()) head.set(http::field::content_type, answer.content_type);
    for (const auto& [name, value] : answer.headers) head.set(name, value);
  }

  void write(ServerAnswer answer) {
    const bool head_only = parser_ && parser_->get().method() == http::verb::head;
    response_.emplace();
    fill_head(*response_, answer);
    response_->keep_alive(keep_alive_ && !shared_->stopping);
    response_->body() = std::move(answer.body);
    response_->prepare_payload();
    if (head_only) {
      const auto length = response_->body().size();
      response_->body().clear();
      response_->content_length(length);
    }
    room_.release();
    expires_after(shared_->options.write_timeout_s);
    http::async_write(stream_, *response_,
                      [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                        if (error) return self->failed(error, "answer");
                        if (!self->response_->keep_alive()) return self->close();
                        self->response_.reset();
                        self->read_header(false);
                      });
  }

  void failed(beast::error_code error, const char* what) {
    const bool is_head = std::string_view(what) == "request";
    if (is_head) request_ = {};  // of the one before
    if (error == beast::error::timeout) {
      ++shared_->timed_out;
      shared_->refused(
          {peer_, request_.method, request_.path, 0, std::string(what) + " took too long"});
    } else if (error.category() == http::make_error_code(http::error::bad_method).category()) {
      ++shared_->malformed;
      if (is_head) {
        return refuse_for(error == http::error::header_limit ? 431 : 400,
                          "the request cannot be read: " + error.message());
      }
      shared_->refused({peer_, request_.method, request_.path, 0,
                        std::string(what) + " cannot be read: " + error.message()});
    }
    close();
  }

  void close() {
    beast::error_code ignored;
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      expires_after(2);
      stream_.async_shutdown([self = this->shared_from_this()](beast::error_code) {
        beast::error_code also_ignored;
        self->lowest().socket().shutdown(Tcp::socket::shutdown_both, also_ignored);
      });
    } else {
      // Both directions are not closed at once: the client may still be sending what it was
      // refused.
      stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
      linger();
    }
  }

  // Reads what is still on its way, for a moment, so that the answer is not lost to a reset.
  void linger() {
    expires_after(2);
    lowest().async_read_some(asio::buffer(rest_), [self = this->shared_from_this()](
                                                      beast::error_code error, std::size_t) {
      if (error || ++self->lingered_ > linger_reads_max) return self->lowest().close();
      self->linger();
    });
  }
  static constexpr int linger_reads_max = 4096;

  std::shared_ptr<Shared> shared_;
  BodyRoom room_;
  Stream stream_;
  std::string peer_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  ServerRequest request_;
  bool keep_alive_ = false;
  std::optional<http::response<http::string_body>> response_;
  std::shared_ptr<http::response<http::empty_body>> continue_;
  std::array<char, 512> rest_;
  int lingered_ = 0;
};

template <typename Stream>
class Session<Stream>::SessionReply final : public Reply {
 public:
  explicit SessionReply(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  ~SessionReply() override {
    if (session_) send(plain_error(500, "nobody answered"));
  }
  void send(ServerAnswer answer) override {
    const auto session = std::exchange(session_, nullptr);
    if (!session) return;
    asio::post(session->stream_.get_executor(), [session, answer = std::move(answer)]() mutable {
      session->write(std::move(answer));
    });
  }
  std::shared_ptr<AnswerStream> stream(ServerAnswer head) override {
    const auto session = std::exchange(session_, nullptr);
    if (!session) return nullptr;
    // Who asks for the head alone gets that and no stream.
    const bool head_only = session->parser_->get().method() == http::verb::head;
    auto stream = std::make_shared<SessionStream>(session);
    stream->begin(std::move(head), head_only);
    return head_only ? nullptr : stream;
  }

 private:
  std::shared_ptr<Session> session_;
};

// Chunks of a body without a length, one write at a time.
template <typename Stream>
class Session<Stream>::SessionStream final
    : public AnswerStream,
      public std::enable_shared_from_this<typename Session<Stream>::SessionStream> {
 public:
  explicit SessionStream(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  void begin(ServerAnswer head, bool head_only) {
    asio::post(session_->stream_.get_executor(),
               [self = this->shared_from_this(), head = std::move(head), head_only] {
                 self->response_.emplace();
                 self->session_->fill_head(*self->response_, head);
                 self->response_->keep_alive(false);
                 self->response_->chunked(true);
                 self->session_->room_.release();
                 self->serializer_.emplace(*self->response_);
                 self->session_->expires_after(self->session_->shared_->options.write_timeout_s);
                 self->writing_ = true;
                 http::async_write_header(self->session_->stream_, *self->serializer_,
                                          [self, head_only](beast::error_code error, std::size_t) {
                                            if (head_only && !error) return self->session_->close();
                                            self->written(error);
                                          });
               });
  }
  bool write(std::string text) override {
    if (gone_ || text.empty()) return !gone_;
    if (waiting_bytes_.fetch_add(text.size()) + text.size() >
        session_->shared_->options.stream_bytes_max) {
      ++session_->shared_->turned_away;
      gone_ = true;
      close();
      return false;
    }
    asio::post(session_->stream_.get_executor(),
               [self = this->shared_from_this(), text = std::move(text)]() mutable {
                 self->queue_.push_back(std::move(text));
                 self->next();
               });
    return true;
  }
  void close() override {
    gone_ = true;
    asio::post(session_->stream_.get_executor(), [self = this->shared_from_this()] {
      beast::error_code ignored;
      self->session_->lowest().socket().shutdown(Tcp::socket::shutdown_both, ignored);
    });
  }

 private:
  void next() {
    if (writing_ || queue_.empty() || gone_) return;
    writing_ = true;
    session_->expires_after(session_->shared_->options.write_timeout_s);
    asio::async_write(session_->stream_, http::make_chunk(asio::buffer(queue_.front())),
                      [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                        self->waiting_bytes_ -= self->queue_.front().size();
                        self->queue_.pop_front();
                        self->written(error);
                      });
  }
  void written(beast::error_code error) {
    writing_ = false;
    session_->lowest().expires_never();
    if (error) {
      gone_ = true;
      queue_.clear();
      return;
    }
    next();
  }

  std::shared_ptr<Session> session_;
  std::optional<http::response<http::empty_body>> response_;
  std::optional<http::response_serializer<http::empty_body>> serializer_;
  std::deque<std::string> queue_;
  std::atomic<std::size_t> waiting_bytes_{0};
  std::atomic<bool> gone_{false};
  bool writing_ = false;
};

}  // namespace headway::net::detail
