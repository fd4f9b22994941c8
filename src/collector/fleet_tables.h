// The facts of every tenant's attempts in memory, as the store has them: whoever wrote them, this
// collector or another. Any thread; refresh() and forget() one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "fleet/fact.h"
#include "fleet/table.h"
#include "store/store.h"

namespace headway::collector {

class FleetTables {
 public:
  static constexpr std::size_t tenants_max = 1000;

  explicit FleetTables(store::Store& store) : store_(store) {}

  // Takes in what has changed since the last time, and tells it attempt by attempt to `on_change`,
  // if there is one. The tenants that it was of.
  using OnChange = std::function<void(const store::FactRow&, fleet::Ending)>;
  base::Result<std::vector<std::string>> refresh(const OnChange& on_change = {});
  // The facts of jobs that were last heard of before then and have none any more. The tenants that
  // it was of.
  base::Result<std::vector<std::string>> forget(std::int64_t heard_before_ns);
  // As of the last refresh; of a tenant without facts, an empty one.
  [[nodiscard]] std::shared_ptr<const fleet::Snapshot> snapshot(const std::string& tenant);
  [[nodiscard]] std::vector<std::string> tenants() const;
  // Rows that could not be read, since the beginning.
  [[nodiscard]] std::uint64_t unreadable() const;
  // What had no room, of all tenants; all of a tenant too many are attempts.
  [[nodiscard]] fleet::TableTroubles troubles() const;

 private:
  store::Store& store_;
  std::mutex refreshing_;
  std::int64_t change_ = 0;  // seen
  mutable std::mutex mutex_;
  std::map<std::string, fleet::FleetTable> tables_;
  std::uint64_t unreadable_ = 0, of_tenants_refused_ = 0;
};

}  // namespace headway::collector
