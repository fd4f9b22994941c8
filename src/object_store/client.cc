#include "object_store/client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>
#include <thread>

#include "base/clock.h"
#include "object_store/hash.h"

namespace headway::object_store {
namespace {

using base::Result;
using base::Status;

std::string amazon_host(const std::string& region) {
  return fmt::format("s3.{}.amazonaws.com{}", region, region.starts_with("cn-") ? ".cn" : "");
}

std::int64_t asked_wait_ns(const net::HttpAnswer& answer) {
  const std::string_view text = answer.header("retry-after");
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) return 0;
  return seconds * base::kNsPerSecond;
}

constexpr std::int64_t kLookNs = 100'000'000;  // at what ends a sleep

void sleep_unless(const std::atomic<bool>* stop, std::int64_t ns) {
  for (; ns > 0 && (stop == nullptr || !stop->load()); ns -= kLookNs) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(ns, kLookNs)));
  }
}

}  // namespace

Runtime real_runtime(const std::atomic<bool>* stop) {
  std::random_device random;
  return {.now_s = [] { return base::real_ns() / base::kNsPerSecond; },
          .sleep = [stop](std::int64_t ns) { sleep_unless(stop, ns); },
          .seed = static_cast<std::uint64_t>(random()) << 32 | random()};
}

Client::Client(net::Transport& transport, Settings settings, std::string bucket, RetryPolicy retry,
               Runtime runtime)
    : transport_(transport),
      settings_(std::move(settings)),
      bucket_(std::move(bucket)),
      retry_(retry),
      runtime_(std::move(runtime)) {
  HW_CHECK(retry_.tries >= 1 && retry_.tries <= tries_max);
  if (settings_.endpoint) {
    host_ = settings_.endpoint->host;
    base_path_ = settings_.endpoint->path + "/" + bucket_;
  } else if (bucket_.find('.') != std::string::npos) {
    host_ = amazon_host(settings_.region);  // no certificate covers two labels
    base_path_ = "/" + bucket_;
  } else {
    host_ = bucket_ + "." + amazon_host(settings_.region);
  }
}

std::string Client::place(const std::string& key) const {
  std::string text = "s3://" + bucket_ + (key.empty() ? "" : "/" + key);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = '?';
  }
  return text;
}

Where Client::where(const Question& question, int tries) const {
  const bool tls = !settings_.endpoint || settings_.endpoint->tls;
  return {question.verb, place(question.key), (tls ? "https://" : "http://") + host_, tries};
}

base::BackOff Client::back_off() {
  return {retry_.shortest_ns, retry_.longest_ns, runtime_.seed + 0x9E37 * ++draws_};
}

void Client::wait(base::BackOff& draw, const net::HttpAnswer& answer) {
  const std::int64_t asked = std::min(asked_wait_ns(answer), retry_.longest_ns);
  runtime_.sleep(std::max(draw.next_ns(), asked));
}

net::HttpRequest Client::request_for(const Question& question) const {
  const bool tls = !settings_.endpoint || settings_.endpoint->tls;
  net::HttpRequest request;
  request.method = question.method;
  const std::string path = base_path_ + "/" + question.key;
  request.url = (tls ? "https://" : "http://") + host_ + target_of(path, question.query);
  request.body = question.body;
  request.into = question.into;
  request.body_bytes_max = question.body_bytes_max;
  // Over TLS nobody changes the body on its way and the checksum of the operation covers the rest;
  // without it the signature has to cover the body too.
  const std::string hash =
      tls && !question.body.empty() ? std::string(unsigned_payload) : hex(sha256(question.body));
  const Signing signing{.region = settings_.region, .now_s = runtime_.now_s()};
  request.headers = question.headers;
  request.headers.emplace_back("host", host_);
  request.headers.emplace_back("x-amz-content-sha256", hash);
  request.headers.emplace_back("x-amz-date", amz_date(signing.now_s));
  const Credentials& credentials = settings_.credentials;
  if (!credentials.session_token.empty()) {
    request.headers.emplace_back("x-amz-security-token", credentials.session_token.reveal());
  }
  request.headers.emplace_back(
      "authorization", authorization(credentials, signing, question.method, path, question.query,
                                     request.headers, hash));
  return request;
}

net::Exchange Client::ask_once(const Question& question) {
  return transport_.send(request_for(question));
}

Result<net::HttpAnswer> Client::ask(const Question& question, const Judge& judge) {
  base::BackOff draw = back_off();
  for (int tried = 1;; ++tried) {
    net::Exchange exchange = ask_once(question);
    net::HttpAnswer& answer = exchange.answer;
    Status status;
    bool again = false;
    if (exchange.failure != net::Failure::none) {
      // libcurl's words may quote what the server said.
      status = failure_status(where(question, tried), exchange.failure,
                              cleaned(exchange.why, settings_.credentials));
      again = is_transient(exchange.failure);
    } else if (answer.status < 200 || answer.status > 299) {
      const StoreError error = read_error(answer, settings_.credentials);
      status = error_status(where(question, tried), answer.status, error);
      again = is_transient(answer.status, error.code);
      if (question.error_code != nullptr) *question.error_code = error.code;
    } else if (judge) {
      if (auto complaint = judge(answer)) {
        status = complaint->status;
        again = complaint->again;
      }
    }
    if (status.ok()) return std::move(answer);
    const bool stopped = question.stop != nullptr && question.stop->load();
    if (!again || stopped || tried >= retry_.tries) return status;
    wait(draw, answer);
  }
}

}  // namespace headway::object_store
