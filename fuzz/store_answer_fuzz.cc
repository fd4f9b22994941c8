// Any bytes as an object store's answer: what is accepted stays within its bounds, says the same
// when it is written again, and an error is one line with nothing of the text in it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "object_store/answers.h"
#include "object_store/errors.h"
#include "object_store/xml.h"

namespace {

using namespace headway::object_store;

std::string written(const Xml& xml, Xml::Id id, const std::vector<Xml::Id>& children) {
  std::string text = "<e>" + xml_escaped(xml.name(id)) + "<t>" + xml_escaped(xml.text(id)) + "</t>";
  return text + std::to_string(children.size()) + "</e>";
}

void check_xml(std::string_view text) {
  const auto parsed = Xml::parse(text);
  if (!parsed.ok()) {
    HW_CHECK(parsed.status().message().find('\n') == std::string::npos);
    HW_CHECK(parsed.status().message().size() < 200);
    return;
  }
  const Xml& xml = parsed.value();
  HW_CHECK(xml.size() >= 1 && xml.size() <= xml_elements_max);
  std::size_t characters = 0;
  for (Xml::Id id = 0; id < xml.size(); ++id) {
    HW_CHECK(!xml.name(id).empty() || text.find(':') != std::string_view::npos);
    characters += xml.name(id).size() + xml.text(id).size();
    const auto children = xml.children(id, "Key");
    for (const Xml::Id child : children) HW_CHECK(child > id && child < xml.size());
    const auto again = Xml::parse(written(xml, id, children));
    HW_CHECK(again.ok() && again.value().child_text(0, "t") == xml.text(id));
  }
  HW_CHECK(characters <= text.size());  // nothing is ever expanded
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_xml(text);
  if (const auto page = parse_list(text); page.ok()) {
    for (const auto& object : page.value().objects) {
      HW_CHECK(!object.key.empty() && object.key.size() <= key_bytes_max);
    }
  }
  if (const auto page = parse_parts(text); page.ok()) {
    for (const auto& part : page.value().parts) HW_CHECK(part.number > 0);
  }
  (void)parse_uploads(text);
  (void)parse_upload_id(text);
  (void)parse_completed(text);
  (void)parse_deleted(text);
  const Credentials credentials{"AKID", Secret("secret-of-the-fuzzer"), Secret("token")};
  const headway::net::HttpAnswer answer{.status = 403, .headers = {}, .body = std::string(text)};
  const auto status =
      error_status({"put", "s3://b/k", "https://h", 1}, 403, read_error(answer, credentials));
  HW_CHECK(status.message().size() < 1000);
  HW_CHECK(status.message().find("secret-of-the-fuzzer") == std::string::npos);
  HW_CHECK(std::none_of(status.message().begin(), status.message().end(),
                        [](char c) { return c < ' ' || c > '~'; }));
  return 0;
}
