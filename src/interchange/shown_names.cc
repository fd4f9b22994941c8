#include "interchange/shown_names.h"

namespace headway::interchange {
namespace {

// Pairs of keys and values could be many more than names: beyond this they are made anew.
constexpr std::size_t values_max = 1 << 16;

}  // namespace

std::string_view ShownNames::text(event::NameId id) const {
  // Built-in phases are words of ours.
  if (!rule_ || id < event::kUserFirst) return names_.text(id);
  if (texts_.size() <= id) texts_.resize(id + std::size_t{1});
  std::unique_ptr<std::string>& shown = texts_[id];
  if (!shown) shown = std::make_unique<std::string>(rule_({}, names_.text(id)));
  return *shown;
}

std::string_view ShownNames::value(event::NameId key, event::NameId value) const {
  if (!rule_) return names_.text(value);
  const std::uint32_t pair = std::uint32_t{key} << 16 | value;
  if (const auto known = values_.find(pair); known != values_.end()) return known->second;
  if (values_.size() >= values_max) values_.clear();
  return values_.emplace(pair, rule_(names_.text(key), names_.text(value))).first->second;
}

}  // namespace headway::interchange
