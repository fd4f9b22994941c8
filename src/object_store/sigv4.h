// AWS Signature Version 4 as S3 wants it: the Authorization header of a request. Path and query are
// encoded once, by the same function that makes the request's target, so that what is signed is
// what is sent. Pure: the time is an argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http.h"
#include "object_store/credentials.h"

namespace headway::object_store {

// Not encoded; in any order.
using Query = std::vector<std::pair<std::string, std::string>>;

// The hash of a body that is not hashed: over TLS, where nobody changes it on the way.
inline constexpr std::string_view unsigned_payload = "UNSIGNED-PAYLOAD";

struct Signing {
  std::string_view region;
  std::string_view service = "s3";
  std::int64_t now_s = 0;  // real time, seconds since 1970
};

// "?a=1&b=": sorted and encoded; empty for none.
[[nodiscard]] std::string target_of(std::string_view path, const Query& query);

[[nodiscard]] std::string amz_date(std::int64_t now_s);  // "20130524T000000Z"

// The canonical request; for tests, and for who wants to know why a server says no.
[[nodiscard]] std::string canonical_request(std::string_view method, std::string_view path,
                                            const Query& query, const net::Headers& headers,
                                            std::string_view payload_hash);
// The value of the Authorization header. All of `headers` are signed; "host", "x-amz-date" and with
// a token "x-amz-security-token" must be among them.
[[nodiscard]] std::string authorization(const Credentials& credentials, const Signing& signing,
                                        std::string_view method, std::string_view path,
                                        const Query& query, const net::Headers& headers,
                                        std::string_view payload_hash);

}  // namespace headway::object_store
