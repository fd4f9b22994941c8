// A regression as it is kept, told over HTTP and sent to others: one JSON document
// (docs/formats/alert.md). Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "collector/webhook.h"
#include "fleet/fact.h"
#include "regress/watch.h"
#include "store/store.h"

namespace headway::collector {

// Attempts by name, as regress knows them by number.
struct NamedAttempt {
  std::string job;
  std::int64_t attempt = 0;
};

// `before`: what is kept of it already, or null. What people said of it stays, unless it was gone
// and has come back: then somebody has to look at it again.
[[nodiscard]] nlohmann::json alert_document(const regress::Regression& regression,
                                            const std::vector<NamedAttempt>& attempts,
                                            const nlohmann::json& before, std::int64_t now_ns);
// Its series have no data any more.
void mark_gone(nlohmann::json& document, std::int64_t now_ns);
void mark_acknowledged(nlohmann::json& document, const std::string& by, const std::string& note,
                       std::int64_t now_ns);
[[nodiscard]] bool is_gone(const nlohmann::json& document);

// What others are to be told of it is kept with it, so that nothing that ends this process between
// the finding and the telling loses it. Announcements are numbered: one for each time that it is
// found and each time that it is gone. One that costs less than `from` device-hours a day waits
// until it costs more.
void plan_announcement(nlohmann::json& document, double from, std::int64_t now_ns);
[[nodiscard]] bool waits_for_announcement(const nlohmann::json& document);
// Its request, of an alert that waits for one.
[[nodiscard]] WebhookMessage announcement(const store::AlertRow& row);
// Of announcement `number`; false: there is none of that number any more, or no news of it.
bool mark_announced(nlohmann::json& document, std::int64_t number, const std::string& outcome,
                    std::int64_t now_ns);

// What a detector has to know of one that it has found before. None: this document is not ours.
[[nodiscard]] std::optional<regress::Known> known_of(const nlohmann::json& document);

}  // namespace headway::collector
