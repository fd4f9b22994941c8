#include "object_store/answers.h"

#include <fmt/format.h>

#include <charconv>

#include "net/percent.h"
#include "object_store/hash.h"
#include "object_store/sigv4.h"
#include "object_store/xml.h"

namespace headway::object_store {
namespace {

using base::Result;
using base::Status;

constexpr std::size_t kTokenBytesMax = 8192;

Status bad(std::string_view what) {
  return Status::corrupt(fmt::format("the store's answer makes no sense: {}", what));
}

template <typename T>
std::optional<T> number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return all ? std::optional(value) : std::nullopt;
}

Result<Xml> parse_as(std::string_view body, std::string_view root) {
  auto xml = Xml::parse(body);
  if (!xml.ok()) return bad(xml.status().message());
  if (xml->name(xml->root()) != root) return bad(fmt::format("it is no {}", root));
  return xml;
}

// Keys as the server wrote them: percent-encoded, if it did as it was asked.
class Keys {
 public:
  explicit Keys(const Xml& xml) : encoded_(xml.child_text(xml.root(), "EncodingType") == "url") {}
  [[nodiscard]] std::optional<std::string> read(std::string_view text) const {
    std::string key = encoded_ ? net::percent_decoded(text, true) : std::string(text);
    if (key.empty() || key.size() > key_bytes_max) return std::nullopt;
    return key;
  }

 private:
  bool encoded_;
};

bool is_truncated(const Xml& xml) {
  return xml.child_text(xml.root(), "IsTruncated") == "true";
}

}  // namespace

std::string plain_etag(std::string_view text) {
  if (text.starts_with("W/")) text.remove_prefix(2);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return std::string(text);
}

Result<ListPage> parse_list(std::string_view body) {
  auto xml = parse_as(body, "ListBucketResult");
  if (!xml.ok()) return xml.status();
  const Keys keys(*xml);
  ListPage page;
  for (const Xml::Id id : xml->children(xml->root(), "Contents")) {
    const auto key = keys.read(xml->child_text(id, "Key"));
    const auto bytes = number<std::uint64_t>(xml->child_text(id, "Size"));
    if (!key || !bytes) return bad("an object's key or size");
    page.objects.push_back({*key, *bytes, plain_etag(xml->child_text(id, "ETag")),
                            xml->child_text(id, "LastModified")});
  }
  for (const Xml::Id id : xml->children(xml->root(), "CommonPrefixes")) {
    const auto prefix = keys.read(xml->child_text(id, "Prefix"));
    if (!prefix) return bad("a common prefix");
    page.prefixes.push_back(*prefix);
  }
  if (is_truncated(*xml)) {
    page.next = xml->child_text(xml->root(), "NextContinuationToken");
    if (page.next.empty() || page.next.size() > kTokenBytesMax) {
      return bad("there is more, but not where");
    }
  }
  return page;
}

Result<UploadsPage> parse_uploads(std::string_view body) {
  auto xml = parse_as(body, "ListMultipartUploadsResult");
  if (!xml.ok()) return xml.status();
  const Keys keys(*xml);
  UploadsPage page;
  for (const Xml::Id id : xml->children(xml->root(), "Upload")) {
    const auto key = keys.read(xml->child_text(id, "Key"));
    UploadEntry entry{key.value_or(""), xml->child_text(id, "UploadId"),
                      xml->child_text(id, "Initiated"), xml->child_text(id, "ChecksumAlgorithm")};
    if (!key || entry.id.empty() || entry.id.size() > kTokenBytesMax) return bad("an upload");
    page.uploads.push_back(std::move(entry));
  }
  page.more = is_truncated(*xml);
  if (page.more) {
    page.next_key = keys.read(xml->child_text(xml->root(), "NextKeyMarker")).value_or("");
    page.next_id = xml->child_text(xml->root(), "NextUploadIdMarker");
    if (page.next_key.empty() || page.next_id.size() > kTokenBytesMax) {
      return bad("there is more, but not where");
    }
  }
  return page;
}

Result<PartsPage> parse_parts(std::string_view body) {
  // The second is what moto calls it, and nobody's client looks at the name.
  auto xml = parse_as(body, "ListPartsResult");
  if (!xml.ok()) {
    if (auto other = parse_as(body, "ListPartsResponse"); other.ok()) xml = std::move(other);
  }
  if (!xml.ok()) return xml.status();
  PartsPage page;
  for (const Xml::Id id : xml->children(xml->root(), "Part")) {
    const auto part = number<std::uint32_t>(xml->child_text(id, "PartNumber"));
    const auto bytes = number<std::uint64_t>(xml->child_text(id, "Size"));
    if (!part || !bytes || *part == 0) return bad("a part's number or size");
    page.parts.push_back({*part, *bytes, plain_etag(xml->child_text(id, "ETag")),
                          crc32c_of_text(xml->child_text(id, "ChecksumCRC32C"))});
  }
  page.more = is_truncated(*xml);
  if (page.more) {
    const auto next = number<std::uint32_t>(xml->child_text(xml->root(), "NextPartNumberMarker"));
    if (!next) return bad("there is more, but not where");
    page.next = *next;
  }
  return page;
}

Result<std::string> parse_upload_id(std::string_view body) {
  auto xml = parse_as(body, "InitiateMultipartUploadResult");
  if (!xml.ok()) return xml.status();
  std::string id = xml->child_text(xml->root(), "UploadId");
  if (id.empty() || id.size() > kTokenBytesMax) return bad("no id of the upload");
  return id;
}

Result<std::string> parse_completed(std::string_view body) {
  auto xml = parse_as(body, "CompleteMultipartUploadResult");
  if (!xml.ok()) return xml.status();
  return plain_etag(xml->child_text(xml->root(), "ETag"));
}

Result<std::vector<NotDeleted>> parse_deleted(std::string_view body) {
  auto xml = parse_as(body, "DeleteResult");
  if (!xml.ok()) return xml.status();
  std::vector<NotDeleted> failed;
  for (const Xml::Id id : xml->children(xml->root(), "Error")) {
    failed.push_back({xml->child_text(id, "Key"), xml->child_text(id, "Code")});
  }
  return failed;
}

}  // namespace headway::object_store
