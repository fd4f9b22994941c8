// A job's names as they may leave it: each goes through a rule once, however many events bear it.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "event/event.h"

namespace headway::interchange {

// What is shown instead of a text. `key`: the attribute's whose value it is; else empty.
using TextRule = std::function<std::string(std::string_view key, std::string_view text)>;

class ShownNames {
 public:
  // Without a rule every text is shown as it is. `names` outlives this and may grow meanwhile.
  ShownNames(const event::NameTable& names, TextRule rule = {})
      : names_(names), rule_(std::move(rule)) {}

  [[nodiscard]] std::string_view text(event::NameId id) const;
  // The text is valid until the next call.
  [[nodiscard]] std::string_view value(event::NameId key, event::NameId value) const;

 private:
  const event::NameTable& names_;
  TextRule rule_;
  mutable std::vector<std::unique_ptr<std::string>> texts_;  // by id; names_max of them at most
  mutable std::unordered_map<std::uint32_t, std::string> values_;  // by key and value
};

}  // namespace headway::interchange
