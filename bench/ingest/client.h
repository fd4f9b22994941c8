// One HTTP/1.1 connection of a load generator: kept alive, never blocking, one request at a time.
// As little work as possible, so that what is measured is the server. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/file.h"

namespace headway::bench {

struct Answer {
  int status = 0;  // 0: there was none, the connection is gone
  int retry_after_s = 0;
  std::string body;
};

class Client {
 public:
  // `epoll`: where it tells that it wants to be called, with `tag`.
  Client(int epoll, std::uint16_t port, std::uint64_t tag)
      : epoll_(epoll), port_(port), tag_(tag) {}

  // `head` ends with an empty line. `body` must live until the answer is there. False: no
  // connection, nor will there be an answer.
  bool send(std::string head, std::span<const std::byte> body);
  // Something can be read or written. An answer, when it is whole.
  std::optional<Answer> ready();
  [[nodiscard]] bool busy() const { return busy_; }
  void close();

 private:
  bool connect();
  bool flush();
  bool want_write(bool wanted);
  std::optional<Answer> parse();

  int epoll_;
  std::uint16_t port_;
  std::uint64_t tag_;
  base::UniqueFd fd_;
  std::string head_;
  std::span<const std::byte> body_;
  std::size_t sent_ = 0;  // of both
  std::string in_;
  bool busy_ = false;
  bool writes_ = false;
};

}  // namespace headway::bench
