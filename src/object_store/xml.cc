#include "object_store/xml.h"

#include <fmt/format.h>

namespace headway::object_store {

using base::Result;
using base::Status;

class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : text_(text) {}

  Result<Xml> read() {
    if (text_.size() > xml_bytes_max) return bad("it is too long");
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (at_ < text_.size()) {
      if (const char* why = step(); why != nullptr) return bad(why);
    }
    if (xml_.elements_.empty() || !open_.empty()) return bad("it is cut off");
    return std::move(xml_);
  }

 private:
  [[nodiscard]] Status bad(std::string_view why) const {
    return Status::corrupt(fmt::format("not the XML that was expected: {} (byte {})", why, at_));
  }
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  static bool is_name(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':' || byte >= 0x80;
  }

  // One tag or one stretch of text. A null pointer: all is well.
  const char* step() {
    if (text_[at_] != '<') return characters();
    const std::string_view here = rest();
    if (here.starts_with("<?")) return skip("<?", "?>");
    if (here.starts_with("<!--")) return skip("<!--", "-->");
    if (here.starts_with("<![CDATA[")) return cdata();
    if (here.starts_with("<!")) return "a document type, which is never needed";
    return here.starts_with("</") ? end_tag() : start_tag();
  }

  const char* skip(std::string_view begin, std::string_view end) {
    const std::size_t found = text_.find(end, at_ + begin.size());
    if (found == std::string_view::npos) return "it is cut off";
    at_ = found + end.size();
    return nullptr;
  }

  const char* cdata() {
    constexpr std::string_view begin = "<![CDATA[";
    const std::size_t from = at_ + begin.size();
    const std::size_t end = text_.find("]]>", from);
    if (end == std::string_view::npos) return "it is cut off";
    if (open_.empty()) return "text outside of everything";
    xml_.elements_[open_.back()].text += text_.substr(from, end - from);
    at_ = end + 3;
    return nullptr;
  }

  const char* characters() {
    const std::size_t end = std::min(text_.find('<', at_), text_.size());
    if (open_.empty()) {
      for (; at_ < end; ++at_) {
        if (!is_space(text_[at_])) return "text outside of everything";
      }
      return nullptr;
    }
    std::string& into = xml_.elements_[open_.back()].text;
    while (at_ < end) {
      const std::size_t stop = std::min(text_.find('&', at_), end);
      into += text_.substr(at_, stop - at_);
      at_ = stop;
      if (at_ < end && !entity(into)) return "an entity that is none of XML's own";
    }
    return nullptr;
  }

  bool entity(std::string& into) {
    constexpr std::size_t longest = 10;  // "&#x10FFFF;"
    const std::size_t end = rest().substr(0, longest).find(';');
    if (end == std::string_view::npos) return false;
    const std::string_view name = rest().substr(1, end - 1);
    at_ += end + 1;
    if (name.starts_with('#')) return number(name.substr(1), into);
    constexpr std::pair<std::string_view, char> known[] = {
        {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    for (const auto& [each, character] : known) {
      if (each != name) continue;
      into += character;
      return true;
    }
    return false;
  }

  static bool number(std::string_view digits, std::string& into) {
    const bool is_hex = digits.starts_with('x');
    if (is_hex) digits.remove_prefix(1);
    if (digits.empty() || digits.size() > 7) return false;
    std::uint32_t value = 0;
    for (const char c : digits) {
      std::uint32_t digit = 99;
      if (c >= '0' && c <= '9') digit = static_cast<std::uint32_t>(c - '0');
      if (is_hex && c >= 'a' && c <= 'f') digit = static_cast<std::uint32_t>(c - 'a' + 10);
      if (is_hex && c >= 'A' && c <= 'F') digit = static_cast<std::uint32_t>(c - 'A' + 10);
      if (digit == 99) return false;
      value = value * (is_hex ? 16 : 10) + digit;
    }
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value == 0 || surrogate || value > 0x10FFFF) return false;
    const auto put = [&](std::uint32_t byte) { into += static_cast<char>(byte); };
    if (value < 0x80) {
      put(value);
    } else if (value < 0x800) {
      put(0xC0 | value >> 6), put(0x80 | (value & 63));
    } else if (value < 0x10000) {
      put(0xE0 | value >> 12), put(0x80 | (value >> 6 & 63)), put(0x80 | (value & 63));
    } else {
      put(0xF0 | value >> 18), put(0x80 | (value >> 12 & 63));
      put(0x80 | (value >> 6 & 63)), put(0x80 | (value & 63));
    }
    return true;
  }

  std::string_view take_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  [[nodiscard]] bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  static std::string_view without_prefix(std::string_view name) {
    const std::size_t colon = name.rfind(':');
    return colon == std::string_view::npos ? name : name.substr(colon + 1);
  }

  const char* start_tag() {
    ++at_;
    const std::string_view name = take_name();
    if (name.empty()) return "a tag without a name";
    if (open_.empty() && !xml_.elements_.empty()) return "more behind its end";
    if (open_.size() == xml_depth_max) return "elements too deep inside of each other";
    if (xml_.elements_.size() == xml_elements_max) return "too many elements";
    if (const char* why = attributes(); why != nullptr) return why;
    const auto id = static_cast<Xml::Id>(xml_.elements_.size());
    if (!open_.empty()) xml_.elements_[open_.back()].children.push_back(id);
    xml_.elements_.push_back({std::string(without_prefix(name)), {}, {}});
    if (next_is('/')) {
      ++at_;
    } else {
      open_.push_back(id);
      open_names_.push_back(name);
    }
    if (!next_is('>')) return "a tag that does not end";
    ++at_;
    return nullptr;
  }

  const char* attributes() {
    while (true) {
      skip_space();
      if (at_ == text_.size()) return "it is cut off";
      if (next_is('>') || next_is('/')) return nullptr;
      if (take_name().empty()) return "an odd attribute";
      skip_space();
      if (!next_is('=')) return "an attribute without a value";
      ++at_;
      skip_space();
      if (!next_is('"') && !next_is('\'')) return "an attribute without quotes";
      const char quote = text_[at_++];
      const std::size_t end = text_.find(quote, at_);
      if (end == std::string_view::npos) return "it is cut off";
      at_ = end + 1;
    }
  }

  const char* end_tag() {
    at_ += 2;
    const std::string_view name = take_name();
    if (open_.empty() || name != open_names_.back()) return "an end without its beginning";
    skip_space();
    if (!next_is('>')) return "a tag that does not end";
    ++at_;
    open_.pop_back();
    open_names_.pop_back();
    return nullptr;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  Xml xml_;
  std::vector<Xml::Id> open_;
  std::vector<std::string_view> open_names_;
};

Result<Xml> Xml::parse(std::string_view text) {
  return XmlReader(text).read();
}

std::vector<Xml::Id> Xml::children(Id id, std::string_view name) const {
  std::vector<Id> found;
  for (const Id each : elements_[id].children) {
    if (elements_[each].name == name) found.push_back(each);
  }
  return found;
}

std::optional<Xml::Id> Xml::child(Id id, std::string_view name) const {
  for (const Id each : elements_[id].children) {
    if (elements_[each].name == name) return each;
  }
  return std::nullopt;
}

std::string Xml::child_text(Id id, std::string_view name) const {
  const auto found = child(id, name);
  return found ? elements_[*found].text : std::string();
}

}  // namespace headway::object_store
