#include "compile/components.h"

#include <map>
#include <optional>
#include <utility>

#include "base/cut_text.h"

namespace headway::compile {
namespace {

constexpr std::size_t kHashBytesMax = 80;
constexpr std::size_t kNameBytesMax = 300;

struct Parts {
  std::string_view hash, name, text;
};

std::optional<Parts> parts_of(std::string_view line) {
  if (!line.starts_with('[')) return std::nullopt;
  const std::size_t close = line.find("] ");
  if (close == std::string_view::npos || close > kHashBytesMax) return std::nullopt;
  Parts out;
  out.hash = line.substr(1, close - 1);
  const std::string_view rest = line.substr(close + 2);
  const std::size_t colon = rest.find(": ");
  if (colon == std::string_view::npos || colon > kNameBytesMax) return std::nullopt;
  out.name = rest.substr(0, colon);
  out.text = rest.substr(colon + 2);
  return out;
}

}  // namespace

std::uint32_t ComponentTable::name_id(std::string_view name) {
  const auto [at, added] =
      by_name_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (added) names_.emplace_back(name);
  return at->second;
}

std::uint32_t ComponentTable::add(std::string_view line) {
  const auto parts = parts_of(line);
  if (!parts) return kNone;
  std::string key;
  key.reserve(parts->hash.size() + parts->name.size() + 1);
  key.append(parts->hash).append(" ").append(parts->name);
  const auto found = by_line_.find(key);
  if (found != by_line_.end()) return found->second;
  if (components_.size() >= kComponentsMax || bytes_ >= kBytesMax) {
    ++left_out_;
    return kNone;
  }
  const auto id = static_cast<std::uint32_t>(components_.size());
  components_.push_back({name_id(parts->name), std::string(parts->hash),
                         std::string(base::cut_text(parts->text, kTextBytesMax))});
  constexpr std::size_t kOverhead = 160;  // of the row, the table's node and three texts
  bytes_ += kOverhead + key.size() + parts->hash.size() + components_.back().text.size();
  by_line_.emplace(std::move(key), id);
  return id;
}

std::vector<ComponentChange> ComponentTable::changes(const std::vector<std::uint32_t>& was,
                                                     const std::vector<std::uint32_t>& is) const {
  // A name should be there once; where it is not, its n-th place is compared with the n-th.
  using Key = std::pair<std::uint32_t, std::size_t>;
  std::map<Key, std::uint32_t> before;
  std::map<std::uint32_t, std::size_t> places;
  for (const std::uint32_t id : was) {
    const std::uint32_t name = components_[id].name;
    before.emplace(Key{name, places[name]++}, id);
  }
  places.clear();
  std::vector<ComponentChange> out;
  for (const std::uint32_t id : is) {
    const std::uint32_t name = components_[id].name;
    const auto found = before.find(Key{name, places[name]++});
    if (found == before.end()) {
      out.push_back({names_[name], "", components_[id].text});
      continue;
    }
    if (found->second != id) {
      out.push_back({names_[name], components_[found->second].text, components_[id].text});
    }
    before.erase(found);
  }
  for (const auto& [key, id] : before) {
    out.push_back({names_[key.first], components_[id].text, ""});
  }
  return out;
}

std::size_t ComponentTable::distance(const std::vector<std::uint32_t>& was,
                                     const std::vector<std::uint32_t>& is) const {
  // Most keys have the same names in the same order: then it is a walk along both.
  if (was.size() == is.size()) {
    std::size_t out = 0;
    bool aligned = true;
    for (std::size_t i = 0; i < is.size() && aligned; ++i) {
      if (was[i] == is[i]) continue;
      aligned = components_[was[i]].name == components_[is[i]].name;
      ++out;
    }
    if (aligned) return out;
  }
  return changes(was, is).size();
}

}  // namespace headway::compile
