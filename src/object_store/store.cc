#include "object_store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/crc32c.h"
#include "net/curl_transport.h"
#include "object_store/xml.h"

namespace headway::object_store {
namespace {

using base::Result;
using base::Status;

constexpr std::size_t kDeleteBatch = 1000;  // the protocol's own

Status prefixed(const Where& where, const Status& status) {
  return {status.code(), fmt::format("{} {}: {}: is this an object store?", where.verb, where.place,
                                     status.message())};
}

// Text that an XML document can hold.
bool fits_xml(std::string_view key) {
  return std::none_of(key.begin(), key.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r';
  });
}

}  // namespace

Store::Store(net::Transport& transport, Settings settings, std::string bucket, StoreOptions options,
             Runtime runtime)
    : client_(transport, std::move(settings), std::move(bucket), options.retry, std::move(runtime)),
      options_(options) {
  HW_CHECK(options_.connections >= 1 && options_.connections <= base::workers_max);
  HW_CHECK(options_.range_bytes > 0);
}

RealStore open_store(Settings settings, const std::string& bucket, const StoreOptions& options) {
  HW_CHECK(options.part_bytes >= part_bytes_min);  // a real store refuses smaller ones
  RealStore out;
  out.transport = std::make_unique<net::CurlTransport>(
      net::CurlOptions{.ca_file = settings.ca_file,
                       .connect_timeout_s = options.connect_timeout_s,
                       .stall_timeout_s = options.stall_timeout_s,
                       .stop = options.stop});
  out.store = std::make_unique<Store>(*out.transport, std::move(settings), bucket, options,
                                      real_runtime(options.stop));
  return out;
}

Result<ObjectInfo> Store::head(const std::string& key) {
  const Question question{.verb = "head",
                          .method = "HEAD",
                          .key = key,
                          .headers = {{"x-amz-checksum-mode", "ENABLED"}}};
  auto answer = client_.ask(question);
  if (!answer.ok()) return answer.status();
  ObjectInfo info;
  const std::string_view length = answer->header("content-length");
  const auto [end, error] =
      std::from_chars(length.data(), length.data() + length.size(), info.bytes);
  if (error != std::errc() || end != length.data() + length.size()) {
    return prefixed(client_.where(question, 1), Status::corrupt("the answer has no length"));
  }
  info.etag = plain_etag(answer->header("etag"));
  info.crc32c = answer->header("x-amz-checksum-crc32c");
  return info;
}

Result<Listing> Store::list(const std::string& prefix, const std::string& delimiter) {
  Listing listing;
  std::string next;
  do {
    Question question{.verb = "list",
                      .method = "GET",
                      .key = "",
                      .query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix}}};
    if (!delimiter.empty()) question.query.emplace_back("delimiter", delimiter);
    if (!next.empty()) question.query.emplace_back("continuation-token", next);
    auto answer = client_.ask(question);
    if (!answer.ok()) return answer.status();
    auto page = parse_list(answer->body);
    Where where = client_.where(question, 1);
    where.place = client_.place(prefix);
    if (!page.ok()) return prefixed(where, page.status());
    const std::size_t got = page->objects.size() + page->prefixes.size();
    if (!page->next.empty() && (page->next == next || got == 0)) {
      return prefixed(where, Status::corrupt("the list goes on without an end"));
    }
    for (ObjectEntry& object : page->objects) listing.objects.push_back(std::move(object));
    for (std::string& each : page->prefixes) listing.prefixes.push_back(std::move(each));
    if (listing.objects.size() + listing.prefixes.size() > list_keys_max) {
      return Status::io(fmt::format("list {}: more than {} objects: name a longer prefix",
                                    where.place, list_keys_max));
    }
    next = page->next;
  } while (!next.empty());
  std::sort(listing.objects.begin(), listing.objects.end(),
            [](const ObjectEntry& a, const ObjectEntry& b) { return a.key < b.key; });
  std::sort(listing.prefixes.begin(), listing.prefixes.end());
  listing.prefixes.erase(std::unique(listing.prefixes.begin(), listing.prefixes.end()),
                         listing.prefixes.end());
  return listing;
}

Status Store::remove(const std::string& key) {
  HW_CHECK(!key.empty());  // of a bucket it would be another request
  auto answer = client_.ask({.verb = "remove", .method = "DELETE", .key = key});
  if (!answer.ok() && answer.status().code() != base::Code::not_found) return answer.status();
  return {};
}

Status Store::remove_many(const std::vector<std::string>& keys) {
  for (std::size_t begin = 0; begin < keys.size(); begin += kDeleteBatch) {
    const std::size_t end = std::min(keys.size(), begin + kDeleteBatch);
    std::string body = "<Delete><Quiet>true</Quiet>";
    std::size_t in_batch = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (!fits_xml(keys[i])) {
        if (Status status = remove(keys[i]); !status.ok()) return status;
        continue;
      }
      body += fmt::format("<Object><Key>{}</Key></Object>", xml_escaped(keys[i]));
      ++in_batch;
    }
    if (in_batch == 0) continue;
    body += "</Delete>";
    const auto data = base::bytes_of(body);
    // This one request has to have it; the stores' older checksum is the one they all know.
    const Question question{
        .verb = "remove",
        .method = "POST",
        .key = "",
        .query = {{"delete", ""}},
        .headers = {{"content-md5", base64(md5(data))}, {"content-type", "application/xml"}},
        .body = data};
    const Where where = client_.where(question, 1);
    const auto judge = [&](const net::HttpAnswer& answer) -> std::optional<Complaint> {
      auto failed = parse_deleted(answer.body);
      if (!failed.ok()) return Complaint{prefixed(where, failed.status()), false};
      for (const NotDeleted& each : *failed) {
        if (each.code == "NoSuchKey") continue;
        const StoreError error{.code = cleaned(each.code, client_.credentials())};
        Where one = where;
        one.place = client_.place(each.key.substr(0, key_bytes_max));
        return Complaint{error_status(one, 200, error), is_transient(200, error.code)};
      }
      return std::nullopt;
    };
    if (auto answer = client_.ask(question, judge); !answer.ok()) return answer.status();
  }
  return {};
}

}  // namespace headway::object_store
