// The little XML that an object store answers with: elements and text. What this reader does not
// know it refuses: no document types, so no entities but the five that XML has itself, nothing is
// ever expanded or fetched. Attributes are passed over. Bounded in bytes, depth and elements. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/xml_text.h"

namespace headway::object_store {

inline constexpr std::size_t xml_bytes_max = 16 << 20;  // 1000 keys of 1 KiB, each byte as %XX
inline constexpr std::size_t xml_depth_max = 32;
inline constexpr std::size_t xml_elements_max = 200'000;

class Xml {
 public:
  using Id = std::uint32_t;

  // Errors say at which byte; they hold nothing of the text.
  static base::Result<Xml> parse(std::string_view text);

  [[nodiscard]] Id root() const { return 0; }
  // Without a prefix: "s3:Key" is "Key".
  [[nodiscard]] const std::string& name(Id id) const { return elements_[id].name; }
  // Its own characters, in one, without those of elements inside of it.
  [[nodiscard]] const std::string& text(Id id) const { return elements_[id].text; }
  [[nodiscard]] std::vector<Id> children(Id id, std::string_view name) const;
  // The first of that name; none: there is none.
  [[nodiscard]] std::optional<Id> child(Id id, std::string_view name) const;
  // The text of that child; empty when there is none.
  [[nodiscard]] std::string child_text(Id id, std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return elements_.size(); }

 private:
  friend class XmlReader;
  struct Element {
    std::string name;
    std::string text;
    std::vector<Id> children;
  };
  std::vector<Element> elements_;
};

using base::xml_escaped;

}  // namespace headway::object_store
