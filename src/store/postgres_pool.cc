#include "store/postgres_pool.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/clock.h"

namespace headway::store {

using base::Result;
using base::Status;

Result<PostgresPool::Lease> PostgresPool::take() {
  {
    std::unique_lock lock(mutex_);
    const bool got = free_.wait_for(lock, std::chrono::milliseconds(timeouts_.statement_ms),
                                    [&] { return !idle_.empty() || open_ < connections_max; });
    if (!got) {
      return Status::io(
          fmt::format("{}: all {} connections are busy", address_.name(), connections_max));
    }
    while (!idle_.empty()) {
      std::unique_ptr<PostgresConnection> connection = std::move(idle_.back());
      idle_.pop_back();
      if (connection->is_usable()) return Lease(*this, std::move(connection));
      --open_;
    }
    const bool pausing = base::monotonic_ns() - failed_ns_ < pause_ns;
    if (!last_failure_.ok() && pausing) return last_failure_;
    ++open_;
  }
  return connect();
}

Result<PostgresPool::Lease> PostgresPool::connect() {
  auto connection = PostgresConnection::open(address_, timeouts_);
  const std::lock_guard lock(mutex_);
  last_failure_ = connection.status();
  if (connection.ok()) return Lease(*this, std::move(*connection));
  failed_ns_ = base::monotonic_ns();
  --open_;
  free_.notify_one();
  return connection.status();
}

Result<PostgresPool::Lease> PostgresPool::take_to_write() {
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t now_ns = base::monotonic_ns();
    const std::size_t settled = std::erase_if(doubts_, [&](const Doubt& doubt) {
      return doubt.connection->is_settled() || now_ns - doubt.since_ns > doubt_ns;
    });
    open_ -= settled;
    if (settled > 0) free_.notify_all();
    if (!doubts_.empty()) {
      return Status::io(
          fmt::format("{}: a commit has not been confirmed; is the server's synchronous "
                      "standby there?",
                      address_.name()));
    }
  }
  return take();
}

void PostgresPool::give_back(std::unique_ptr<PostgresConnection> connection) {
  const std::lock_guard lock(mutex_);
  if (connection->in_doubt()) {
    doubts_.push_back({std::move(connection), base::monotonic_ns()});
    return;
  }
  if (connection->is_usable()) {
    idle_.push_back(std::move(connection));
  } else {
    connection.reset();
    --open_;
  }
  free_.notify_one();
}

}  // namespace headway::store
