// The alerts of all tenants, as the store has them, and what people and the watcher do to them:
// each change is read, made and written by one at a time. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "regress/watch.h"
#include "store/store.h"

namespace headway::collector {

inline constexpr std::size_t alerts_max = 2000;  // of a tenant, that are looked at

struct Alert {
  store::AlertRow row;
  bool fresh = false;  // it was not known before
};

class Alerts {
 public:
  explicit Alerts(store::Store& store) : store_(store) {}

  [[nodiscard]] base::Result<std::vector<store::AlertRow>> all(const std::string& tenant);
  // What a detector finds, given what is known; `name` names the attempt of a number. Those that
  // have changed are written, and returned.
  base::Result<std::vector<Alert>> update(
      const std::string& tenant,
      const std::function<regress::Findings(std::vector<regress::Known>)>& watch,
      const std::function<std::pair<std::string, std::int64_t>(std::size_t)>& name,
      std::int64_t now_ns);
  // None: there is no such alert.
  base::Result<std::optional<store::AlertRow>> acknowledge(const std::string& tenant,
                                                           std::int64_t id, const std::string& by,
                                                           const std::string& note,
                                                           std::int64_t now_ns);

 private:
  store::Store& store_;
  std::mutex mutex_;
};

}  // namespace headway::collector
