#include "collector/webhook.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/duration.h"
#include "object_store/hash.h"

namespace headway::collector {
namespace {

constexpr std::int64_t kLongestWaitNs = 600'000'000'000;
constexpr std::size_t kAnswerBytesMax = 64 << 10;

// Will this message never be taken? Who may ask and where is put right by people: those statuses
// are of the place, not of the message.
bool is_final(int status) {
  switch (status) {
    case 401:
    case 403:
    case 404:
    case 407:
    case 408:
    case 425:
    case 429:
      return false;
    default:
      return status >= 400 && status < 500;
  }
}

}  // namespace

std::string_view told_name(Told told) {
  switch (told) {
    case Told::taken:
      return "taken";
    case Told::refused:
      return "refused";
    case Told::given_up:
      break;
  }
  return "given_up";
}

std::string webhook_signature(std::string_view secret, std::string_view time_s,
                              std::string_view body) {
  const auto key = std::span(reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size());
  return "sha256=" + base::hex(object_store::hmac_sha256(key, fmt::format("{}.{}", time_s, body)));
}

WebhookDelivery deliver_webhook(net::Transport& transport, const std::string& url,
                                const std::string& secret, const WebhookMessage& message) {
  net::HttpRequest request;
  request.method = "POST";
  request.url = url;
  const std::string time_s = fmt::to_string(base::real_ns() / base::kNsPerSecond);
  request.headers = {{"content-type", "application/json"},
                     {"x-headway-delivery", message.id},
                     {"x-headway-timestamp", time_s}};
  if (!secret.empty()) {
    request.headers.emplace_back("x-headway-signature",
                                 webhook_signature(secret, time_s, message.body));
  }
  request.body = std::as_bytes(std::span(message.body));
  request.body_bytes_max = kAnswerBytesMax;
  const net::Exchange exchange = transport.send(request);
  if (exchange.failure != net::Failure::none) return {0, exchange.why};
  return {exchange.answer.status, fmt::format("answers {}", exchange.answer.status)};
}

Webhook::Webhook(WebhookOptions options, std::unique_ptr<net::Transport> transport,
                 WebhookSource source, std::function<void(const std::string&)> log)
    : options_(std::move(options)),
      transport_(std::move(transport)),
      source_(std::move(source)),
      log_(std::move(log)),
      on_(!options_.url.empty() || !options_.urls.empty()),
      thread_([this] {
        if (on_) run();
      }) {}

Webhook::~Webhook() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Webhook::wake() {
  const std::lock_guard lock(mutex_);
  ask_ns_ = INT64_MIN;
  wake_.notify_all();
}

WebhookCounts Webhook::counts() const {
  const std::lock_guard lock(mutex_);
  WebhookCounts out = counts_;
  out.waiting = waiting_.size();
  return out;
}

const std::string& Webhook::url_of(const std::string& tenant) const {
  const auto own = options_.urls.find(tenant);
  return own == options_.urls.end() ? options_.url : own->second;
}

WebhookDelivery Webhook::deliver(const WebhookMessage& message) {
  return deliver_webhook(*transport_, url_of(message.tenant), options_.secret, message);
}

// What waits is what the source says, no more: an announcement that is overtaken is not told.
void Webhook::ask(std::unique_lock<std::mutex>& lock) {
  ask_ns_ = base::monotonic_ns() + options_.ask_again_ns;
  lock.unlock();
  auto all = source_.waiting();
  lock.lock();
  if (!all.ok()) return;  // the watcher says what is wrong with the store
  std::set<std::string> ids;
  std::size_t too_old_now = 0;
  for (WebhookMessage& message : *all) {
    if (url_of(message.tenant).empty()) continue;
    ids.insert(message.id);
    if (waiting_.contains(message.id) || waiting_.size() >= options_.waiting_max) continue;
    const base::BackOff back_off(options_.shortest_wait_ns, kLongestWaitNs,
                                 std::hash<std::string>()(message.id));
    const bool too_old = base::real_ns() - message.since_ns > options_.give_up_ns;
    std::string id = message.id;
    waiting_.emplace(std::move(id),
                     Waiting{std::move(message), back_off, INT64_MIN,
                             too_old ? std::optional(Told::given_up) : std::nullopt});
    too_old_now += too_old ? 1 : 0;
  }
  counts_.given_up += too_old_now;
  std::erase_if(waiting_, [&](const auto& each) { return !ids.contains(each.first); });
  if (too_old_now == 0) return;
  lock.unlock();
  log_(fmt::format("the webhook is not told of what was found more than {} ago: {}",
                   base::format_duration(options_.give_up_ns),
                   too_old_now == 1 ? "a message" : fmt::format("{} messages", too_old_now)));
  lock.lock();
}

std::map<std::string, Webhook::Waiting>::iterator Webhook::next() {
  return std::ranges::min_element(waiting_, {},
                                  [](const auto& each) { return each.second.next_ns; });
}

void Webhook::tell(std::unique_lock<std::mutex>& lock, const std::string& id) {
  const WebhookMessage message = waiting_.at(id).message;
  std::optional<Told> told = waiting_.at(id).told;
  const bool was_told = told.has_value();
  std::string trouble;
  lock.unlock();
  if (!told) {
    const WebhookDelivery delivery = deliver(message);
    const int status = delivery.status;
    trouble = delivery.why;
    const bool too_old = base::real_ns() - message.since_ns > options_.give_up_ns;
    if (status >= 200 && status < 300) {
      told = Told::taken;
    } else if (is_final(status)) {
      told = Told::refused;
      log_(fmt::format("the webhook refuses {} for good: {}", message.id, trouble));
    } else {
      if (too_old) told = Told::given_up;
      if (too_old) {
        log_(fmt::format("the webhook's message {} is given up: {}", message.id, trouble));
      } else if (trouble != last_trouble_) {
        log_(fmt::format("the webhook is not taken: {}", trouble));
      }
    }
    last_trouble_ = told == Told::taken ? "" : trouble;
  }
  const bool noted = told && source_.note(message, *told).ok();
  lock.lock();
  if (told && !was_told) {
    ++(*told == Told::taken     ? counts_.sent
       : *told == Told::refused ? counts_.refused
                                : counts_.given_up);
  }
  if (noted) {
    waiting_.erase(id);
    return;
  }
  if (!told) ++counts_.retries;
  Waiting& own = waiting_.at(id);
  own.told = told;
  own.next_ns = base::monotonic_ns() + own.back_off.next_ns();
}

void Webhook::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const std::int64_t now_ns = base::monotonic_ns();
    if (ask_ns_ <= now_ns) {
      ask(lock);
      continue;
    }
    const auto first = next();
    if (first != waiting_.end() && first->second.next_ns <= now_ns) {
      tell(lock, std::string(first->first));
      continue;
    }
    std::int64_t until_ns = ask_ns_;
    if (first != waiting_.end()) until_ns = std::min(until_ns, first->second.next_ns);
    wake_.wait_for(lock, std::chrono::nanoseconds(until_ns - now_ns),
                   [&] { return stop_ || ask_ns_ == INT64_MIN; });
  }
}

}  // namespace headway::collector
