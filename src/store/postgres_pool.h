// A bounded number of connections to one database, made when they are needed and kept for the next
// who needs one. Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/status.h"
#include "store/postgres.h"

namespace headway::store {

class PostgresPool {
 public:
  static constexpr std::size_t connections_max = 8;

  PostgresPool(PostgresAddress address, PostgresTimeouts timeouts)
      : address_(std::move(address)), timeouts_(timeouts) {}

  // A connection of one's own until it goes out of scope. What is lost by then is not kept.
  class Lease {
   public:
    Lease(PostgresPool& pool, std::unique_ptr<PostgresConnection> connection)
        : pool_(&pool), connection_(std::move(connection)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (connection_) pool_->give_back(std::move(connection_));
    }
    PostgresConnection* operator->() { return connection_.get(); }
    PostgresConnection& operator*() { return *connection_; }

   private:
    PostgresPool* pool_;
    std::unique_ptr<PostgresConnection> connection_;
  };
  base::Result<Lease> take();
  // For who is going to commit: not while an earlier commit has no answer. A server whose standby
  // is away answers none, and every one that is begun holds a connection and its locks there.
  base::Result<Lease> take_to_write();

  [[nodiscard]] const PostgresAddress& address() const { return address_; }

 private:
  // After a failure nobody tries anew for so long: all would wait for the same.
  static constexpr std::int64_t pause_ns = 200'000'000;
  // A commit without an answer is given up after that; the server may be another by then.
  static constexpr std::int64_t doubt_ns = 300'000'000'000;

  struct Doubt {
    std::unique_ptr<PostgresConnection> connection;
    std::int64_t since_ns;
  };
  base::Result<Lease> connect();
  void give_back(std::unique_ptr<PostgresConnection> connection);

  const PostgresAddress address_;
  const PostgresTimeouts timeouts_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<std::unique_ptr<PostgresConnection>> idle_;
  std::vector<Doubt> doubts_;
  std::size_t open_ = 0;  // all of them
  base::Status last_failure_;
  std::int64_t failed_ns_ = 0;
};

}  // namespace headway::store
