// A regression as it is kept, told over HTTP and sent to others: one JSON document
// (docs/formats/alert.md). Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fleet/fact.h"
#include "regress/watch.h"

namespace headway::collector {

// Attempts by name, as regress knows them by number.
struct NamedAttempt {
  std::string job;
  std::int64_t attempt = 0;
};

// `before`: what is kept of it already, or null. What people said of it stays.
[[nodiscard]] nlohmann::json alert_document(const regress::Regression& regression,
                                            const std::vector<NamedAttempt>& attempts,
                                            const nlohmann::json& before, std::int64_t now_ns);
// Its series have no data any more.
void mark_gone(nlohmann::json& document, std::int64_t now_ns);
void mark_acknowledged(nlohmann::json& document, const std::string& by, const std::string& note,
                       std::int64_t now_ns);
[[nodiscard]] bool is_gone(const nlohmann::json& document);

// What a detector has to know of one that it has found before. None: this document is not ours.
[[nodiscard]] std::optional<regress::Known> known_of(const nlohmann::json& document);

}  // namespace headway::collector
