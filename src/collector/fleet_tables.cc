#include "collector/fleet_tables.h"

#include <set>

#include "fleet/fact_bytes.h"

namespace headway::collector {

using base::Result;
using base::Status;

Result<std::vector<std::string>> FleetTables::refresh(const OnChange& on_change) {
  const std::lock_guard alone(refreshing_);
  std::set<std::string> changed;
  const Status status = store_.facts(change_, [&](const store::FactRow& row) {
    auto facts = fleet::facts_from_bytes(row.bytes, "facts of " + row.job);
    if (on_change && facts.ok()) on_change(row, facts->ending);
    const std::lock_guard lock(mutex_);
    change_ = row.change;
    if (!facts.ok()) {
      ++unreadable_;
      return true;
    }
    if (!tables_.contains(row.tenant) && tables_.size() >= tenants_max) {
      ++of_tenants_refused_;
      return true;
    }
    tables_[row.tenant].upsert(row.job, *facts);
    changed.insert(row.tenant);
    return true;
  });
  if (!status.ok()) return status;
  return std::vector<std::string>(changed.begin(), changed.end());
}

Result<std::vector<std::string>> FleetTables::forget(std::int64_t heard_before_ns) {
  const std::lock_guard alone(refreshing_);
  std::set<std::string> changed;
  const Status status = store_.jobs_without_facts(
      heard_before_ns, [&](const std::string& tenant, const std::string& job) {
        const std::lock_guard lock(mutex_);
        const auto table = tables_.find(tenant);
        if (table != tables_.end() && table->second.erase_job(job)) changed.insert(tenant);
      });
  if (!status.ok()) return status;
  return std::vector<std::string>(changed.begin(), changed.end());
}

std::shared_ptr<const fleet::Snapshot> FleetTables::snapshot(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(tenant);
  if (found == tables_.end()) return fleet::FleetTable().snapshot();
  return found->second.snapshot();
}

std::vector<std::string> FleetTables::tenants() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [tenant, table] : tables_) out.push_back(tenant);
  return out;
}

std::uint64_t FleetTables::unreadable() const {
  const std::lock_guard lock(mutex_);
  return unreadable_;
}

fleet::TableTroubles FleetTables::troubles() const {
  const std::lock_guard lock(mutex_);
  fleet::TableTroubles out;
  out.attempts_refused = of_tenants_refused_;
  for (const auto& [tenant, table] : tables_) {
    const fleet::TableTroubles& one = table.troubles();
    out.attempts_refused += one.attempts_refused;
    out.values_dropped += one.values_dropped;
    out.levers_dropped += one.levers_dropped;
    out.hosts_dropped += one.hosts_dropped;
    out.slices_dropped += one.slices_dropped;
    out.numbers_clamped += one.numbers_clamped;
  }
  return out;
}

}  // namespace headway::collector
