// Tells another program of alerts, by a signed request each (docs/serve.md): one after the other,
// tried again until it is taken or too old. A queue with a bound: what does not fit is counted, and
// is on the page in any case. One thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "net/http.h"

namespace headway::collector {

struct WebhookOptions {
  std::string url;     // empty: nobody is told
  std::string secret;  // that both sides know; empty: unsigned
  std::size_t waiting_max = 1000;
  std::int64_t give_up_ns = 24 * 3'600'000'000'000;
  std::int64_t shortest_wait_ns = 1'000'000'000;
};

struct WebhookCounts {
  std::uint64_t sent = 0, retries = 0, dropped = 0;
  std::size_t waiting = 0;
};

class Webhook {
 public:
  Webhook(WebhookOptions options, std::unique_ptr<net::Transport> transport,
          std::function<void(const std::string&)> log);
  ~Webhook();
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  // `id` is the same however often it is tried: a receiver can tell.
  void send(std::string id, std::string body, std::int64_t now_ns);
  [[nodiscard]] WebhookCounts counts() const;

 private:
  struct Message {
    std::string id, body;
    std::int64_t since_ns = 0;
  };
  void run();
  bool deliver(const Message& message, std::string& why);

  const WebhookOptions options_;
  const std::unique_ptr<net::Transport> transport_;
  const std::function<void(const std::string&)> log_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Message> waiting_;
  WebhookCounts counts_;
  bool stop_ = false;
  std::thread thread_;
};

// "sha256=…" of the time and the body with a point between: what a receiver compares.
[[nodiscard]] std::string webhook_signature(std::string_view secret, std::string_view time_s,
                                            std::string_view body);

}  // namespace headway::collector
