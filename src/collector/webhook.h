// Tells other programs of alerts, by a signed request each (docs/serve.md). What is to be told is
// kept elsewhere and asked for: at the start, when somebody says that there is more, and from time
// to time. So a message that was not taken is told again by the next process, under the same id:
// at least once. Each message has its own times of trying: one that is refused holds up no other.
// One thread of its own, which sends one request at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/back_off.h"
#include "base/status.h"
#include "net/http.h"

namespace headway::collector {

struct WebhookOptions {
  std::string url;                          // of tenants without one of their own; empty: none
  std::map<std::string, std::string> urls;  // by tenant
  std::string secret;                       // that both sides know; empty: unsigned
  std::size_t waiting_max = 1000;           // at once; others are asked for again
  std::int64_t give_up_ns = 24 * 3'600'000'000'000;
  std::int64_t shortest_wait_ns = 1'000'000'000;
  std::int64_t ask_again_ns = 60'000'000'000;
};

struct WebhookCounts {
  std::uint64_t sent = 0, retries = 0, refused = 0, given_up = 0;
  std::size_t waiting = 0;
};

// `id` is the same however often it is tried: a receiver can tell.
struct WebhookMessage {
  std::string id, tenant, body;
  std::int64_t since_ns = 0;                        // when there was something to tell
  std::int64_t alert = 0, announcement_number = 0;  // whose it is
};

struct WebhookDelivery {
  int status = 0;   // 0: there was no answer
  std::string why;  // in words
};

// One request, signed where there is a secret.
WebhookDelivery deliver_webhook(net::Transport& transport, const std::string& url,
                                const std::string& secret, const WebhookMessage& message);

enum class Told : std::uint8_t { taken, refused, given_up };
[[nodiscard]] std::string_view told_name(Told told);

struct WebhookSource {
  // All that waits, the newest first.
  std::function<base::Result<std::vector<WebhookMessage>>()> waiting;
  // Asked again until it is good: what is not noted would be told once more.
  std::function<base::Status(const WebhookMessage&, Told)> note;
};

class Webhook {
 public:
  Webhook(WebhookOptions options, std::unique_ptr<net::Transport> transport, WebhookSource source,
          std::function<void(const std::string&)> log);
  ~Webhook();
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  // There may be more to tell.
  void wake();
  [[nodiscard]] WebhookCounts counts() const;

 private:
  struct Waiting {
    WebhookMessage message;
    base::BackOff back_off;
    std::int64_t next_ns = 0;  // monotonic
    std::optional<Told> told;  // known, and not noted yet
  };
  void run();
  void ask(std::unique_lock<std::mutex>& lock);
  void tell(std::unique_lock<std::mutex>& lock, const std::string& id);
  [[nodiscard]] std::map<std::string, Waiting>::iterator next();
  [[nodiscard]] const std::string& url_of(const std::string& tenant) const;
  WebhookDelivery deliver(const WebhookMessage& message);

  const WebhookOptions options_;
  const std::unique_ptr<net::Transport> transport_;
  const WebhookSource source_;
  const std::function<void(const std::string&)> log_;
  const bool on_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, Waiting> waiting_;  // by id
  std::string last_trouble_;                // so that the log has it once
  WebhookCounts counts_;
  std::int64_t ask_ns_ = INT64_MIN;
  bool stop_ = false;
  std::thread thread_;
};

// "sha256=…" of the time and the body with a point between: what a receiver compares.
[[nodiscard]] std::string webhook_signature(std::string_view secret, std::string_view time_s,
                                            std::string_view body);

}  // namespace headway::collector
