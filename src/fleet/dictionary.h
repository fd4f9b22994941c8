// Names as numbers: each distinct text gets the next number, for good. Texts lie in blocks that are
// never moved or changed, so a view (what a snapshot of the table holds) stays readable by any
// thread while the one owner adds more behind it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headway::fleet {

class DictionaryView {
 public:
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::string_view operator[](std::uint32_t id) const {
    return (*blocks_[id / kBlock])[id % kBlock];
  }
  // By looking at all: for a few questions, not for rows.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const {
    for (std::uint32_t id = 0; id < size_; ++id) {
      if ((*this)[id] == text) return id;
    }
    return std::nullopt;
  }

 private:
  friend class Dictionary;
  static constexpr std::uint32_t kBlock = 256;
  using Block = std::array<std::string, kBlock>;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::uint32_t size_ = 0;
};

class Dictionary {
 public:
  explicit Dictionary(std::uint32_t size_max) : size_max_(size_max) {}

  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const {
    const auto found = ids_.find(text);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }
  // None: it is full.
  std::optional<std::uint32_t> add(std::string_view text) {
    if (const auto found = find(text)) return found;
    if (view_.size_ == size_max_) return std::nullopt;
    const std::uint32_t id = view_.size_;
    if (id % DictionaryView::kBlock == 0) {
      view_.blocks_.push_back(std::make_shared<DictionaryView::Block>());
    }
    std::string& place = (*view_.blocks_.back())[id % DictionaryView::kBlock];
    place = text;
    ids_.emplace(place, id);
    ++view_.size_;
    return id;
  }
  [[nodiscard]] std::uint32_t size() const { return view_.size_; }
  [[nodiscard]] const DictionaryView& view() const { return view_; }

 private:
  std::uint32_t size_max_;
  DictionaryView view_;
  std::unordered_map<std::string_view, std::uint32_t> ids_;  // keys lie in the blocks
};

}  // namespace headway::fleet
