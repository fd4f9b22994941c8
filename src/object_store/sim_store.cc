#include "object_store/sim_store.h"

#include <fmt/format.h>

#include <cstring>
#include <random>

#include "base/crc32c.h"
#include "net/percent.h"
#include "object_store/xml.h"

namespace headway::object_store {
namespace {

std::string header_of(const net::HttpRequest& request, std::string_view name) {
  for (const auto& [each, value] : request.headers) {
    if (each == name) return value;
  }
  return {};
}

net::Exchange answer(int status, std::string body = {}, net::Headers headers = {}) {
  net::Exchange exchange;
  exchange.answer.status = status;
  exchange.answer.body = std::move(body);
  exchange.answer.headers = std::move(headers);
  return exchange;
}

std::string text_of(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

std::string value_of(const std::map<std::string, std::string>& query, const std::string& name) {
  const auto it = query.find(name);
  return it == query.end() ? "" : it->second;
}

}  // namespace

net::Exchange error_answer(int status, const std::string& code) {
  return answer(status, fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}"
                                    "</Code><Message>m</Message></Error>",
                                    code));
}

net::Exchange failed(net::Failure failure) {
  net::Exchange exchange;
  exchange.failure = failure;
  exchange.why = "it failed";
  return exchange;
}

Settings test_settings() {
  Settings settings;
  settings.credentials = {"AKIDTEST", Secret("the-secret-of-the-test"), Secret()};
  settings.region = "us-east-1";
  settings.endpoint = Endpoint{.tls = false, .host = "store.test", .path = ""};
  return settings;
}

Runtime test_runtime(std::vector<std::int64_t>* waits) {
  return {.now_s = [] { return std::int64_t{1'700'000'000}; },
          .sleep =
              [waits](std::int64_t ns) {
                static std::mutex mutex;
                const std::lock_guard lock(mutex);
                if (waits != nullptr) waits->push_back(ns);
              },
          .seed = 7};
}

std::string some_bytes(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

void SimStore::die_at(std::optional<std::size_t> number) {
  const std::lock_guard lock(mutex_);
  dies_at_ = number;
  number_ = 0;
}

std::map<std::string, std::string> SimStore::objects() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> out;
  for (const auto& [key, object] : objects_) out[key] = object.data;
  return out;
}

void SimStore::set(const std::string& key, const std::string& data) {
  const std::lock_guard lock(mutex_);
  objects_[key] = made_of(data);
}

void SimStore::erase(const std::string& key) {
  const std::lock_guard lock(mutex_);
  objects_.erase(key);
}

std::size_t SimStore::uploads() const {
  const std::lock_guard lock(mutex_);
  return uploads_.size();
}

std::vector<std::string> SimStore::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

SimStore::Object SimStore::made_of(std::string data) const {
  Object object;
  const auto bytes = base::bytes_of(data);
  object.etag = habits_.md5_tags ? hex(md5(bytes)) : "opaque-" + std::to_string(data.size());
  if (habits_.confirms_crc32c) {
    object.crc32c = crc32c_text(base::crc32c(data.data(), data.size()));
  }
  object.data = std::move(data);
  return object;
}

net::Exchange SimStore::send(const net::HttpRequest& request) {
  std::size_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = number_++;
    if (dies_at_ && number >= *dies_at_) return failed(net::Failure::other);
  }
  if (before) {
    if (auto instead = before(request, number)) return *instead;
  }
  std::string_view url = request.url;
  const std::string front = fmt::format("http://store.test/{}/", bucket);
  if (!url.starts_with(front)) return error_answer(404, "NoSuchBucket");
  url.remove_prefix(front.size());
  const std::size_t mark = url.find('?');
  const std::string key = net::percent_decoded(url.substr(0, mark), false);
  Arguments query;
  for (std::string_view rest = mark == std::string_view::npos ? "" : url.substr(mark + 1);
       !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    query[std::string(pair.substr(0, pair.find('=')))] =
        net::percent_decoded(pair.substr(pair.find('=') + 1), false);
  }
  net::Exchange exchange;
  {
    const std::lock_guard lock(mutex_);
    log_.push_back(fmt::format("{} {}", request.method, url));
    exchange = handle(request, key, query);
  }
  if (after) after(request, exchange);
  return exchange;
}

net::Exchange SimStore::handle(const net::HttpRequest& request, const std::string& key,
                               const Arguments& query) {
  const std::string& method = request.method;
  if (method == "GET" && query.contains("list-type")) return list(query);
  if (method == "GET" && query.contains("uploads")) return list_uploads(query);
  if (method == "GET" && query.contains("uploadId")) return list_parts(query);
  if (method == "GET" || method == "HEAD") return get(request, key);
  if (method == "PUT") return put(request, key, query);
  if (method == "POST" && query.contains("delete")) return remove_many(request);
  if (method == "POST" && query.contains("uploads")) {
    const std::string id = fmt::format("id{:04}", ++ids_);
    uploads_[id].key = key;
    return answer(200, fmt::format("<InitiateMultipartUploadResult><UploadId>{}</UploadId>"
                                   "</InitiateMultipartUploadResult>",
                                   id));
  }
  if (method == "POST" && query.contains("uploadId")) return complete(request, query);
  if (method == "DELETE" && query.contains("uploadId")) {
    return uploads_.erase(value_of(query, "uploadId")) > 0 ? answer(204)
                                                           : error_answer(404, "NoSuchUpload");
  }
  if (method == "DELETE") {
    objects_.erase(key);
    return answer(204);
  }
  return error_answer(405, "MethodNotAllowed");
}

net::Exchange SimStore::get(const net::HttpRequest& request, const std::string& key) {
  const auto it = objects_.find(key);
  if (it == objects_.end()) {
    return request.method == "HEAD" ? answer(404) : error_answer(404, "NoSuchKey");
  }
  const Object& object = it->second;
  const std::string match = header_of(request, "if-match");
  if (!match.empty() && plain_etag(match) != object.etag) {
    return error_answer(412, "PreconditionFailed");
  }
  net::Exchange out = answer(200, {}, {{"etag", '"' + object.etag + '"'}});
  if (!object.crc32c.empty()) {
    out.answer.headers.emplace_back("x-amz-checksum-crc32c", object.crc32c);
  }
  if (request.method == "HEAD") {
    out.answer.headers.emplace_back("content-length", std::to_string(object.data.size()));
    return out;
  }
  std::string_view data = object.data;
  if (const std::string range = header_of(request, "range"); !range.empty()) {
    const std::size_t begin = std::stoull(range.substr(6));
    const std::size_t end = std::stoull(range.substr(range.find('-') + 1));
    if (begin >= data.size()) return error_answer(416, "InvalidRange");
    data = data.substr(begin, end - begin + 1);
    out.answer.status = 206;
    out.answer.headers.emplace_back(
        "content-range",
        fmt::format("bytes {}-{}/{}", begin, begin + data.size() - 1, object.data.size()));
  }
  if (request.into.empty()) {
    if (data.size() > request.body_bytes_max) return failed(net::Failure::too_long);
    out.answer.body = data;
  } else {
    if (data.size() > request.into.size()) return failed(net::Failure::too_long);
    std::memcpy(request.into.data(), data.data(), data.size());
    out.answer.into_bytes = data.size();
  }
  return out;
}

net::Exchange SimStore::put(const net::HttpRequest& request, const std::string& key,
                            const Arguments& query) {
  Object object = made_of(text_of(request.body));
  const std::string said = header_of(request, "x-amz-checksum-crc32c");
  if (habits_.confirms_crc32c && said != object.crc32c) return error_answer(400, "BadDigest");
  net::Exchange out = answer(200, {}, {{"etag", '"' + object.etag + '"'}});
  if (habits_.confirms_crc32c) {
    out.answer.headers.emplace_back("x-amz-checksum-crc32c", object.crc32c);
  }
  if (!query.contains("partNumber")) {
    objects_[key] = std::move(object);
    return out;
  }
  const auto it = uploads_.find(value_of(query, "uploadId"));
  if (it == uploads_.end() || it->second.key != key) return error_answer(404, "NoSuchUpload");
  it->second.parts[static_cast<std::uint32_t>(std::stoul(value_of(query, "partNumber")))] =
      std::move(object);
  return out;
}

net::Exchange SimStore::list(const Arguments& query) const {
  const std::string prefix = value_of(query, "prefix");
  const std::string delimiter = value_of(query, "delimiter");
  const std::string after_key = value_of(query, "continuation-token");
  std::string body = "<ListBucketResult xmlns=\"x\"><EncodingType>url</EncodingType>";
  std::size_t count = 0;
  std::string last, last_prefix;
  bool truncated = false;
  for (const auto& [key, object] : objects_) {
    if (!key.starts_with(prefix) || key <= after_key) continue;
    const std::size_t cut =
        delimiter.empty() ? std::string::npos : key.find(delimiter, prefix.size());
    const std::string common = cut == std::string::npos ? "" : key.substr(0, cut + 1);
    if (!common.empty() && (common == last_prefix || after_key.starts_with(common))) {
      last = key;
      continue;
    }
    if (count == habits_.page) {
      truncated = true;
      break;
    }
    ++count;
    last = key;
    last_prefix = common;
    if (common.empty()) {
      body += fmt::format(
          "<Contents><Key>{}</Key><Size>{}</Size><ETag>&quot;{}&quot;</ETag></Contents>",
          net::percent_encoded(key, true), object.data.size(), object.etag);
    } else {
      body += fmt::format("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>",
                          net::percent_encoded(common, true));
    }
  }
  body += fmt::format("<IsTruncated>{}</IsTruncated>", truncated);
  if (truncated) {
    body += fmt::format("<NextContinuationToken>{}</NextContinuationToken>", xml_escaped(last));
  }
  return answer(200, body + "</ListBucketResult>");
}

net::Exchange SimStore::list_uploads(const Arguments& query) const {
  std::string body = "<ListMultipartUploadsResult>";
  const std::string after_id = value_of(query, "upload-id-marker");
  std::size_t count = 0;
  std::string last_key, last_id;
  bool truncated = false;
  for (const auto& [id, upload] : uploads_) {
    if (!upload.key.starts_with(value_of(query, "prefix")) || id <= after_id) continue;
    if (count++ == habits_.page) {
      truncated = true;
      break;
    }
    last_key = upload.key;
    last_id = id;
    body += fmt::format(
        "<Upload><Key>{}</Key><UploadId>{}</UploadId><Initiated>{}</Initiated></Upload>",
        xml_escaped(upload.key), id, id);
  }
  body += fmt::format(
      "<IsTruncated>{}</IsTruncated><NextKeyMarker>{}</NextKeyMarker>"
      "<NextUploadIdMarker>{}</NextUploadIdMarker>",
      truncated, xml_escaped(last_key), last_id);
  return answer(200, body + "</ListMultipartUploadsResult>");
}

net::Exchange SimStore::list_parts(const Arguments& query) const {
  const auto it = uploads_.find(value_of(query, "uploadId"));
  if (it == uploads_.end()) return error_answer(404, "NoSuchUpload");
  const std::string marker = value_of(query, "part-number-marker");
  const unsigned long after_part = marker.empty() ? 0 : std::stoul(marker);
  std::string body = "<ListPartsResult>";
  std::size_t count = 0;
  std::uint32_t last = 0;
  bool truncated = false;
  for (const auto& [number, part] : it->second.parts) {
    if (number <= after_part) continue;
    if (count++ == habits_.page) {
      truncated = true;
      break;
    }
    last = number;
    body += fmt::format("<Part><PartNumber>{}</PartNumber><Size>{}</Size><ETag>\"{}\"</ETag>",
                        number, part.data.size(), part.etag);
    if (habits_.lists_crc32c && !part.crc32c.empty()) {
      body += fmt::format("<ChecksumCRC32C>{}</ChecksumCRC32C>", part.crc32c);
    }
    body += "</Part>";
  }
  body += fmt::format(
      "<IsTruncated>{}</IsTruncated><NextPartNumberMarker>{}"
      "</NextPartNumberMarker>",
      truncated, last);
  return answer(200, body + "</ListPartsResult>");
}

net::Exchange SimStore::complete(const net::HttpRequest& request, const Arguments& query) {
  const auto it = uploads_.find(value_of(query, "uploadId"));
  if (it == uploads_.end()) return error_answer(404, "NoSuchUpload");
  auto xml = Xml::parse(text_of(request.body));
  if (!xml.ok()) return error_answer(400, "MalformedXML");
  Object whole;
  std::vector<std::uint32_t> crcs;
  std::vector<Md5> tags;
  for (const Xml::Id id : xml->children(xml->root(), "Part")) {
    const auto number = static_cast<std::uint32_t>(std::stoul(xml->child_text(id, "PartNumber")));
    const auto part = it->second.parts.find(number);
    if (part == it->second.parts.end() ||
        plain_etag(xml->child_text(id, "ETag")) != part->second.etag) {
      return error_answer(400, "InvalidPart");
    }
    whole.data += part->second.data;
    crcs.push_back(base::crc32c(part->second.data.data(), part->second.data.size()));
    tags.push_back(md5(base::bytes_of(part->second.data)));
  }
  whole.etag = habits_.md5_tags ? composite_etag(tags) : "opaque";
  if (habits_.confirms_crc32c) whole.crc32c = composite_crc32c(crcs);
  const std::string etag = whole.etag;
  objects_[it->second.key] = std::move(whole);
  uploads_.erase(it);
  return answer(200, fmt::format("  <CompleteMultipartUploadResult><ETag>&quot;{}&quot;</ETag>"
                                 "</CompleteMultipartUploadResult>",
                                 etag));
}

net::Exchange SimStore::remove_many(const net::HttpRequest& request) {
  if (header_of(request, "content-md5") != base64(md5(request.body))) {
    return error_answer(400, "BadDigest");
  }
  auto xml = Xml::parse(text_of(request.body));
  if (!xml.ok()) return error_answer(400, "MalformedXML");
  for (const Xml::Id id : xml->children(xml->root(), "Object")) {
    objects_.erase(xml->child_text(id, "Key"));
  }
  return answer(200, "<DeleteResult/>");
}

}  // namespace headway::object_store
