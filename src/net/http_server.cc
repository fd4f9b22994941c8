#include "net/http_server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "net/http_session.h"

namespace headway::net {
namespace detail {

ServerAnswer plain_error(int status, std::string_view text) {
  ServerAnswer answer;
  answer.status = status;
  answer.content_type = "application/json";
  std::string quoted;
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  answer.body = fmt::format("{{\"error\":\"{}\"}}\n", quoted);
  return answer;
}

}  // namespace detail

namespace {

// A client whose machine or network is gone says nothing, and a reader of events need not say
// anything either: the kernel asks after 30 s, and closes what has not answered for 60 s.
void keep_alive(int fd) {
  constexpr int yes = 1, first_s = 30, next_s = 10, count = 3, unanswered_ms = 60'000;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &first_s, sizeof(first_s));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &next_s, sizeof(next_s));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof(unanswered_ms));
}

}  // namespace

using base::Result;
using base::Status;
using detail::Tcp;
namespace asio = boost::asio;
namespace beast = boost::beast;

std::string_view ServerRequest::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? std::string_view() : found->second;
}

const std::string* ServerRequest::argument(std::string_view name) const {
  const auto found = std::ranges::find(query, name, &std::pair<std::string, std::string>::first);
  return found == query.end() ? nullptr : &found->second;
}

// What runs on its threads may point to it: they are joined before it goes.
struct HttpServer::State {
  std::shared_ptr<detail::Shared> shared = std::make_shared<detail::Shared>();
  asio::io_context context;
  Tcp::acceptor acceptor{context};
  asio::steady_timer pause{context};
  std::optional<asio::ssl::context> tls;
  std::vector<std::thread> threads;

  Status use_tls();
  Status listen();
  void accept();
  void on_accept(beast::error_code error, Tcp::socket socket);
};

Status HttpServer::State::use_tls() {
  const ServerOptions& options = shared->options;
  if (options.certificate_file.empty() && options.key_file.empty()) return {};
  tls.emplace(asio::ssl::context::tls_server);
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                   asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                   asio::ssl::context::no_tlsv1_1);
  for (const std::string& file : {options.certificate_file, options.key_file}) {
    if (::access(file.c_str(), R_OK) != 0) return base::errno_status(file, "cannot be read", errno);
  }
  beast::error_code error;
  tls->use_certificate_chain_file(options.certificate_file, error);
  if (error) {
    return Status::invalid(fmt::format("{}: cannot be used as a certificate: {}",
                                       options.certificate_file, error.message()));
  }
  tls->use_private_key_file(options.key_file, asio::ssl::context::pem, error);
  if (error) {
    return Status::invalid(fmt::format("{}: cannot be used as the certificate's key: {}",
                                       options.key_file, error.message()));
  }
  return {};
}

Status HttpServer::State::listen() {
  const ServerOptions& options = shared->options;
  beast::error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) {
    return Status::invalid(
        fmt::format("{}: is no address to listen on: give one as in 127.0.0.1 "
                    "or ::1",
                    options.address));
  }
  const Tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return {};
  return Status::io(fmt::format("{} port {}: cannot listen there: {}", options.address,
                                options.port, error.message()));
}

void HttpServer::State::accept() {
  acceptor.async_accept(
      asio::make_strand(context),
      [this](beast::error_code error, Tcp::socket socket) { on_accept(error, std::move(socket)); });
}

void HttpServer::State::on_accept(beast::error_code error, Tcp::socket socket) {
  if (error == asio::error::operation_aborted || shared->stopping) return;
  if (error) {  // of descriptors, most likely: others will be given back
    shared->log("cannot accept a connection: " + error.message());
    pause.expires_after(std::chrono::milliseconds(100));
    pause.async_wait([this](beast::error_code) { accept(); });
    return;
  }
  ++shared->accepted;
  if (shared->connections >= shared->options.connections_max) {
    ++shared->turned_away;
    beast::error_code unknown;
    const auto peer = socket.remote_endpoint(unknown);
    shared->refused({.peer = unknown ? "" : peer.address().to_string(),
                     .method = {},
                     .path = {},
                     .status = 0,
                     .why = "too many connections"});
  } else {
    beast::error_code ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    keep_alive(socket.native_handle());
    if (tls) {
      std::make_shared<detail::Session<detail::TlsStream>>(shared, std::move(socket), *tls)->run();
    } else {
      std::make_shared<detail::Session<detail::PlainStream>>(shared, std::move(socket))->run();
    }
  }
  accept();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options,
                                                      RequestHandler& handler) {
  auto state = std::make_unique<State>();
  state->shared->options = std::move(options);
  state->shared->handler = &handler;
  if (Status status = state->use_tls(); !status.ok()) return status;
  if (Status status = state->listen(); !status.ok()) return status;
  state->accept();
  for (int i = 0; i < std::max(1, state->shared->options.threads); ++i) {
    state->threads.emplace_back([context = &state->context] { context->run(); });
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  stop(0);
}

std::uint16_t HttpServer::port() const {
  beast::error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

ServerCounts HttpServer::counts() const {
  const detail::Shared& shared = *state_->shared;
  return {.connections = shared.connections,
          .accepted = shared.accepted,
          .requests = shared.requests,
          .turned_away = shared.turned_away,
          .timed_out = shared.timed_out,
          .malformed = shared.malformed};
}

void HttpServer::stop(int grace_ms) {
  if (state_->threads.empty()) return;
  state_->shared->stopping = true;
  asio::post(state_->context, [state = state_.get()] {
    beast::error_code ignored;
    state->acceptor.close(ignored);
  });
  for (int waited = 0; waited < grace_ms && state_->shared->bodies_bytes > 0; waited += 5) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  state_->context.stop();
  for (std::thread& thread : state_->threads) thread.join();
  state_->threads.clear();
}

}  // namespace headway::net
