// One question to the store: addressed, signed, sent, tried again where that may help, judged.
// What the questions are is store.h's to know. Any thread, several at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/back_off.h"
#include "base/status.h"
#include "net/http.h"
#include "object_store/credentials.h"
#include "object_store/errors.h"
#include "object_store/sigv4.h"

namespace headway::object_store {

inline constexpr int tries_max = 100;

struct RetryPolicy {
  int tries = 7;
  std::int64_t shortest_ns = 100'000'000;
  std::int64_t longest_ns = 20'000'000'000;
};

// What is not a pure function, from outside.
struct Runtime {
  std::function<std::int64_t()> now_s;         // real time
  std::function<void(std::int64_t ns)> sleep;  // between two tries
  std::uint64_t seed = 1;                      // of the waits
};
// `stop`, where given: set, nobody sleeps any longer.
[[nodiscard]] Runtime real_runtime(const std::atomic<bool>* stop = nullptr);

struct Question {
  std::string verb = {};    // for messages: "put"
  std::string method = {};  // "PUT"
  std::string key = {};     // empty: the bucket itself
  Query query = {};
  net::Headers headers = {};  // besides those that every request has
  std::span<const std::byte> body = {};
  std::span<std::byte> into = {};
  std::size_t body_bytes_max = net::answer_bytes_max;
  const std::atomic<bool>* stop = nullptr;  // no other try when it is set
  std::string* error_code = nullptr;        // gets the store's own word for a final error
};

// What is wrong with an answer of 2xx; none: it is good. `again`: another try may help.
struct Complaint {
  base::Status status;
  bool again = false;
};
using Judge = std::function<std::optional<Complaint>(const net::HttpAnswer&)>;

class Client {
 public:
  Client(net::Transport& transport, Settings settings, std::string bucket, RetryPolicy retry,
         Runtime runtime);

  base::Result<net::HttpAnswer> ask(const Question& question, const Judge& judge = {});
  // One try, whatever comes of it; for who goes on from where the last one was cut.
  net::Exchange ask_once(const Question& question);

  [[nodiscard]] const Credentials& credentials() const { return settings_.credentials; }
  [[nodiscard]] const RetryPolicy& retry() const { return retry_; }
  [[nodiscard]] std::string place(const std::string& key) const;  // "s3://bucket/key"
  [[nodiscard]] Where where(const Question& question, int tries) const;
  [[nodiscard]] base::BackOff back_off();
  // As long as the draw says, or as long as the server asks for, up to the longest.
  void wait(base::BackOff& draw, const net::HttpAnswer& answer);

 private:
  net::HttpRequest request_for(const Question& question) const;

  net::Transport& transport_;
  const Settings settings_;
  const std::string bucket_;
  const RetryPolicy retry_;
  const Runtime runtime_;
  std::string host_;
  std::string base_path_;
  std::atomic<std::uint64_t> draws_ = 0;
};

}  // namespace headway::object_store
