// The components of cache keys: torch lists for each question to its cache what the key was hashed
// from, some 350 texts like "[3kf…] inductor_config[max_autotune]: False". Nearly all are the same
// every time, so each is kept once, cut, under a number. Which components two keys do not share is
// the answer to why the second was a miss. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headway::compile {

struct Component {
  std::uint32_t name = 0;  // number of its name
  std::string hash;
  std::string text;  // its beginning
};

struct ComponentChange {
  std::string name;
  std::string was, is;  // texts; empty: there was none
};

class ComponentTable {
 public:
  static constexpr std::size_t kComponentsMax = 2'000'000;
  static constexpr std::size_t kBytesMax = std::size_t{40} << 20;
  static constexpr std::size_t kTextBytesMax = 200;

  // "[hash] name: text" → its number. kNone where it is not such a text, or the table is full.
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t add(std::string_view line);

  [[nodiscard]] const Component& at(std::uint32_t id) const { return components_[id]; }
  [[nodiscard]] const std::string& name_of(std::uint32_t id) const {
    return names_[components_[id].name];
  }
  // In the order of `is`; what is only in `was` comes last.
  [[nodiscard]] std::vector<ComponentChange> changes(const std::vector<std::uint32_t>& was,
                                                     const std::vector<std::uint32_t>& is) const;
  // How many names have another value, or are in one of them only.
  [[nodiscard]] std::size_t distance(const std::vector<std::uint32_t>& was,
                                     const std::vector<std::uint32_t>& is) const;
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  std::uint32_t name_id(std::string_view name);

  std::vector<Component> components_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> by_line_;  // "hash name" → number
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::size_t bytes_ = 0;  // about
  std::uint64_t left_out_ = 0;
};

}  // namespace headway::compile
