#include "collector/webhook.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/back_off.h"
#include "base/clock.h"
#include "object_store/hash.h"

namespace headway::collector {
namespace {

constexpr std::int64_t kLongestWaitNs = 600'000'000'000;
constexpr std::size_t kAnswerBytesMax = 64 << 10;

}  // namespace

std::string webhook_signature(std::string_view secret, std::string_view time_s,
                              std::string_view body) {
  const auto key = std::span(reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size());
  return "sha256=" + base::hex(object_store::hmac_sha256(key, fmt::format("{}.{}", time_s, body)));
}

Webhook::Webhook(WebhookOptions options, std::unique_ptr<net::Transport> transport,
                 std::function<void(const std::string&)> log)
    : options_(std::move(options)),
      transport_(std::move(transport)),
      log_(std::move(log)),
      thread_([this] { run(); }) {}

Webhook::~Webhook() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Webhook::send(std::string id, std::string body, std::int64_t now_ns) {
  if (options_.url.empty()) return;
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= options_.waiting_max) {
    ++counts_.dropped;
    return;
  }
  waiting_.push_back({std::move(id), std::move(body), now_ns});
  wake_.notify_all();
}

WebhookCounts Webhook::counts() const {
  const std::lock_guard lock(mutex_);
  WebhookCounts out = counts_;
  out.waiting = waiting_.size();
  return out;
}

bool Webhook::deliver(const Message& message, std::string& why) {
  net::HttpRequest request;
  request.method = "POST";
  request.url = options_.url;
  const std::string time_s = fmt::to_string(base::real_ns() / base::kNsPerSecond);
  request.headers = {{"content-type", "application/json"},
                     {"x-headway-delivery", message.id},
                     {"x-headway-timestamp", time_s}};
  if (!options_.secret.empty()) {
    request.headers.emplace_back("x-headway-signature",
                                 webhook_signature(options_.secret, time_s, message.body));
  }
  request.body = std::as_bytes(std::span(message.body));
  request.body_bytes_max = kAnswerBytesMax;
  const net::Exchange exchange = transport_->send(request);
  if (exchange.failure != net::Failure::none) {
    why = exchange.why;
    return false;
  }
  why = fmt::format("answers {}", exchange.answer.status);
  return exchange.answer.status >= 200 && exchange.answer.status < 300;
}

void Webhook::run() {
  base::BackOff back_off(options_.shortest_wait_ns, kLongestWaitNs,
                         static_cast<std::uint64_t>(base::real_ns()));
  std::string told;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    const Message message = waiting_.front();
    lock.unlock();
    std::string why;
    const bool taken = deliver(message, why);
    const bool too_old = base::real_ns() - message.since_ns > options_.give_up_ns;
    if (!taken && why != told) log_(fmt::format("the webhook is not taken: {}", why));
    told = taken ? "" : why;
    lock.lock();
    if (taken || too_old) {
      waiting_.pop_front();
      ++(taken ? counts_.sent : counts_.dropped);
      back_off.reset();
      continue;
    }
    ++counts_.retries;
    wake_.wait_for(lock, std::chrono::nanoseconds(back_off.next_ns()), [&] { return stop_; });
  }
}

}  // namespace headway::collector
