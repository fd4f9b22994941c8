#include "collector/host_guard.h"

#include <gtest/gtest.h>

namespace headway::collector {
namespace {

net::ServerRequest request(const std::string& method, net::Headers headers) {
  net::ServerRequest out;
  out.method = method;
  out.headers = std::move(headers);
  return out;
}

TEST(HostGuard, NamesOfThisMachine) {
  for (const char* host : {"localhost", "localhost:8743", "LocalHost:1", "localhost.", "127.0.0.1",
                           "127.0.0.1:8743", "127.9.9.9", "[::1]", "[::1]:8743", "x.localhost:1"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:8743", "127.0.0.1.evil.example",
                           "localhost.evil.example", "10.0.0.1", "0.0.0.0", "[::]", "[::1", "::1",
                           "xlocalhost", "2130706433", "127.1", "[127.0.0.1].evil.example"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

TEST(HostGuard, ARequestThatAPageOfElsewhereMade) {
  EXPECT_EQ(misled(request("GET", {{"host", "localhost:1"}}), false).status, 0);
  EXPECT_EQ(misled(request("GET", {}), false).status, 0);  // no browser
  EXPECT_EQ(misled(request("GET", {{"host", "evil.example:1"}}), false).status, 403);
  // A link from elsewhere may be followed.
  EXPECT_EQ(
      misled(request("GET", {{"host", "localhost:1"}, {"sec-fetch-site", "cross-site"}}), false)
          .status,
      0);
  const auto post = [](net::Headers headers, bool json_only) {
    headers.emplace_back("host", "localhost:1");
    return misled(request("POST", std::move(headers)), json_only).status;
  };
  EXPECT_EQ(post({}, false), 0);
  EXPECT_EQ(post({{"origin", "http://localhost:1"}}, false), 0);
  EXPECT_EQ(post({{"origin", "https://evil.example"}}, false), 403);
  EXPECT_EQ(post({{"origin", "http://localhost:2"}}, false), 403);
  EXPECT_EQ(post({{"origin", "null"}}, false), 403);
  EXPECT_EQ(post({{"sec-fetch-site", "same-origin"}}, false), 0);
  EXPECT_EQ(post({{"sec-fetch-site", "cross-site"}}, false), 403);
  EXPECT_EQ(post({}, true), 415);
  EXPECT_EQ(post({{"content-type", "text/plain"}}, true), 415);
  EXPECT_EQ(post({{"content-type", "application/json"}}, true), 0);
  EXPECT_EQ(post({{"content-type", "Application/JSON; charset=utf-8"}}, true), 0);
}

}  // namespace
}  // namespace headway::collector
