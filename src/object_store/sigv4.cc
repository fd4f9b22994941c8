#include "object_store/sigv4.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <time.h>

#include <algorithm>
#include <map>

#include "base/file_system.h"
#include "net/percent.h"
#include "object_store/hash.h"

namespace headway::object_store {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string encoded_query(const Query& query) {
  // By encoded name, then by encoded value: an order of bytes after encoding, not before.
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(query.size());
  for (const auto& [name, value] : query) {
    pairs.emplace_back(net::percent_encoded(name, false), net::percent_encoded(value, false));
  }
  std::sort(pairs.begin(), pairs.end());
  std::string text;
  for (const auto& [name, value] : pairs) {
    if (!text.empty()) text += '&';
    text += name + "=" + value;
  }
  return text;
}

// Without spaces around it; one where there are several.
std::string trimmed(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const bool space = c == ' ' || c == '\t';
    if (!space) out += c;
    if (space && !out.empty() && out.back() != ' ') out += ' ';
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

struct CanonicalHeaders {
  std::string lines;
  std::string names;
};

CanonicalHeaders canonical_headers(const net::Headers& headers) {
  std::map<std::string, std::string> merged;  // values of one name in the order they came
  for (const auto& [name, value] : headers) {
    const auto [it, is_new] = merged.emplace(name, trimmed(value));
    if (!is_new) it->second += "," + trimmed(value);
  }
  CanonicalHeaders out;
  for (const auto& [name, value] : merged) {
    out.lines += fmt::format("{}:{}\n", name, value);
    if (!out.names.empty()) out.names += ';';
    out.names += name;
  }
  return out;
}

}  // namespace

std::string target_of(std::string_view path, const Query& query) {
  std::string target = net::percent_encoded(path, true);
  if (!query.empty()) target += "?" + encoded_query(query);
  return target;
}

std::string amz_date(std::int64_t now_s) {
  const auto seconds = static_cast<time_t>(now_s);
  tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "19700101T000000Z";
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string canonical_request(std::string_view method, std::string_view path, const Query& query,
                              const net::Headers& headers, std::string_view payload_hash) {
  const CanonicalHeaders canonical = canonical_headers(headers);
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", method, net::percent_encoded(path, true),
                     encoded_query(query), canonical.lines, canonical.names, payload_hash);
}

std::string authorization(const Credentials& credentials, const Signing& signing,
                          std::string_view method, std::string_view path, const Query& query,
                          const net::Headers& headers, std::string_view payload_hash) {
  const std::string date = amz_date(signing.now_s);
  const std::string day = date.substr(0, 8);
  const std::string scope =
      fmt::format("{}/{}/{}/aws4_request", day, signing.region, signing.service);
  const std::string request = canonical_request(method, path, query, headers, payload_hash);
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, date, scope, hex(sha256(base::bytes_of(request))));
  std::string first = "AWS4" + credentials.secret_key.reveal();
  Sha256 key = hmac_sha256(
      std::span(reinterpret_cast<const std::uint8_t*>(first.data()), first.size()), day);
  OPENSSL_cleanse(first.data(), first.size());
  key = hmac_sha256(key, signing.region);
  key = hmac_sha256(key, signing.service);
  key = hmac_sha256(key, "aws4_request");
  const std::string signature = hex(hmac_sha256(key, to_sign));
  OPENSSL_cleanse(key.data(), key.size());
  return fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                     credentials.access_key_id, scope, canonical_headers(headers).names, signature);
}

}  // namespace headway::object_store
