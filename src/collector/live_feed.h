// Those who look at the page and are told at once when something changes, as server-sent events
// (docs/serve.md). A reader that does not keep up is dropped and comes back; events say that
// something is new, not what, so nothing is lost by it. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_server.h"

namespace headway::collector {

class LiveFeed {
 public:
  static constexpr std::size_t readers_max = 1000;
  static constexpr std::int64_t comment_ns = 15'000'000'000;  // so that a dead reader is noticed

  // What a stream begins with.
  static net::ServerAnswer head();
  // Takes the reply over. One reader too many is told to come later: a tenant may have one more as
  // long as it has fewer than are left for all, so that none takes all.
  void add(const std::string& tenant, std::int64_t token, const std::shared_ptr<net::Reply>& reply);
  // Ends the streams of tokens that are not good any more.
  void keep_only(const std::function<bool(std::int64_t token)>& is_good);
  // To the readers of that tenant. `data` is one line of JSON.
  void publish(const std::string& tenant, std::string_view event, std::string_view data);
  // From time to time.
  void tend(std::int64_t now_ns);
  void close();
  [[nodiscard]] std::size_t readers() const;

 private:
  struct Reader {
    std::string tenant;
    std::int64_t token;  // 0: none was needed
    std::shared_ptr<net::AnswerStream> stream;
  };
  void write_to(const std::string* tenant, const std::string& text);

  mutable std::mutex mutex_;
  std::vector<Reader> readers_;
  std::int64_t next_comment_ns_ = INT64_MIN;
};

}  // namespace headway::collector
