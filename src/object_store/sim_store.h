// For tests: an object store in memory behind the transport's seam. It knows the operations that we
// use, cuts its lists into short pages, and does what a test tells it to do wrong. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "net/http.h"
#include "object_store/store.h"

namespace headway::object_store {

class SimStore final : public net::Transport {
 public:
  // Of this and no other bucket.
  static constexpr const char* bucket = "bucket";

  struct Habits {
    bool confirms_crc32c = true;
    bool lists_crc32c = true;
    bool md5_tags = true;
    std::size_t page = 3;
  };
  explicit SimStore(Habits habits) : habits_(habits) {}
  SimStore() : SimStore(Habits()) {}

  net::Exchange send(const net::HttpRequest& request) override;

  // Before the store sees it; an exchange: it never does. `number` from 0.
  std::function<std::optional<net::Exchange>(const net::HttpRequest&, std::size_t number)> before;
  // What the answer becomes on its way back.
  std::function<void(const net::HttpRequest&, net::Exchange&)> after;

  // From the n-th request from now on, nothing gets through: the process is as good as dead.
  void die_at(std::optional<std::size_t> number);
  [[nodiscard]] std::size_t requests() const { return number_; }

  [[nodiscard]] std::map<std::string, std::string> objects() const;
  void set(const std::string& key, const std::string& data);
  void erase(const std::string& key);
  [[nodiscard]] std::size_t uploads() const;
  // Of one key; what a person counts.
  [[nodiscard]] std::vector<std::string> log() const;  // "PUT key?partNumber=1&uploadId=…"

 private:
  struct Object {
    std::string data, etag, crc32c;
  };
  struct Upload {
    std::string key;
    std::map<std::uint32_t, Object> parts;
  };
  using Arguments = std::map<std::string, std::string>;

  net::Exchange handle(const net::HttpRequest& request, const std::string& key,
                       const Arguments& query);
  net::Exchange get(const net::HttpRequest& request, const std::string& key);
  net::Exchange put(const net::HttpRequest& request, const std::string& key,
                    const Arguments& query);
  net::Exchange list(const Arguments& query) const;
  net::Exchange list_uploads(const Arguments& query) const;
  net::Exchange list_parts(const Arguments& query) const;
  net::Exchange complete(const net::HttpRequest& request, const Arguments& query);
  net::Exchange remove_many(const net::HttpRequest& request);
  [[nodiscard]] Object made_of(std::string data) const;

  const Habits habits_;
  mutable std::mutex mutex_;
  std::map<std::string, Object> objects_;
  std::map<std::string, Upload> uploads_;
  std::vector<std::string> log_;
  std::size_t number_ = 0;
  std::size_t ids_ = 0;
  std::optional<std::size_t> dies_at_;
};

// An answer with an XML error.
[[nodiscard]] net::Exchange error_answer(int status, const std::string& code);
[[nodiscard]] net::Exchange failed(net::Failure failure);

[[nodiscard]] Settings test_settings();
// Time stands still, nobody sleeps; the waits go into `waits` where given.
[[nodiscard]] Runtime test_runtime(std::vector<std::int64_t>* waits = nullptr);
[[nodiscard]] std::string some_bytes(std::size_t bytes, unsigned seed);

}  // namespace headway::object_store
