// The alerts of all tenants, as the store has them, and what the watcher, people and the webhook do
// to them. Others may write at the same time, here or in another collector of the store: each
// change is read, made and written only if nobody wrote meanwhile, else made anew. Holds nothing;
// any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "regress/sla.h"
#include "regress/watch.h"
#include "store/store.h"

namespace headway::collector {

inline constexpr std::size_t alerts_max = 2000;           // of a tenant, that are looked at
inline constexpr std::size_t announcements_max = 10'000;  // of all tenants

struct AlertOptions {
  double announce_from = 0;       // device-hours a day that one costs, before others are told of it
  regress::AlertTargets targets;  // how soon one should be found
};

struct AlertChanges {
  std::vector<store::AlertRow> rows;  // that were written
  base::Status status;                // of one that could not be
};

class Alerts {
 public:
  explicit Alerts(store::Store& store, AlertOptions options = {})
      : store_(store), options_(std::move(options)) {}

  [[nodiscard]] const AlertOptions& options() const { return options_; }
  [[nodiscard]] base::Result<std::vector<store::AlertRow>> all(const std::string& tenant);
  // What a detector finds, given what is known; `name` names the attempt of a number. Those that
  // have changed are written, each together with what others have to be told of it.
  AlertChanges update(const std::string& tenant,
                      const std::function<regress::Findings(std::vector<regress::Known>)>& watch,
                      const std::function<std::pair<std::string, std::int64_t>(std::size_t)>& name,
                      std::int64_t now_ns);
  // None: there is no such alert.
  base::Result<std::optional<store::AlertRow>> acknowledge(const std::string& tenant,
                                                           std::int64_t id, const std::string& by,
                                                           const std::string& note,
                                                           std::int64_t now_ns);

  // Of all tenants: those that others have to be told of and have not been, as far as is known.
  [[nodiscard]] base::Result<std::vector<store::AlertRow>> to_announce();
  // What became of announcement `number` (docs/formats/alert.md: taken, refused, given_up).
  base::Status announced(const std::string& tenant, std::int64_t id, std::int64_t number,
                         const std::string& outcome, std::int64_t now_ns);

 private:
  using Change = std::function<bool(nlohmann::json&)>;
  base::Result<std::optional<store::AlertRow>> put(std::optional<store::AlertRow> kept,
                                                   const std::string& tenant,
                                                   const std::string& key, const Change& change,
                                                   std::int64_t now_ns);
  base::Result<std::optional<store::AlertRow>> find(
      const std::string& tenant, const std::function<bool(const store::AlertRow&)>& is);

  store::Store& store_;
  const AlertOptions options_;
};

}  // namespace headway::collector
