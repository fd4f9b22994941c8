#include "collector/host_guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

namespace headway::collector {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return out;
}

// "https://localhost:8743" → "localhost:8743".
std::string_view authority_of(std::string_view origin) {
  const std::size_t at = origin.find("://");
  return at == std::string_view::npos ? std::string_view() : origin.substr(at + 3);
}

}  // namespace

bool is_loopback(const std::string& address) {
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, address.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool is_loopback_host(std::string_view host) {
  std::string name = lower(host);
  if (name.starts_with('[')) {
    const std::size_t end = name.find(']');
    if (end == std::string::npos) return false;
    return is_loopback(name.substr(1, end - 1)) && (end + 1 == name.size() || name[end + 1] == ':');
  }
  name.resize(std::min(name.find(':'), name.size()));
  if (name.ends_with('.')) name.pop_back();
  // Browsers resolve names below localhost themselves, to this machine (RFC 6761).
  return name == "localhost" || name.ends_with(".localhost") || is_loopback(name);
}

Misled misled(const net::ServerRequest& head, bool json_only) {
  // Every browser names the host; who does not is no browser.
  const std::string_view host = head.header("host");
  if (!host.empty() && !is_loopback_host(host)) {
    return {403,
            "without tokens this collector answers to localhost, 127.0.0.1 and [::1] alone; for "
            "other names make a token with `headway serve token add`"};
  }
  if (head.method == "GET" || head.method == "HEAD") return {};
  const std::string_view origin = head.header("origin");
  const std::string site = lower(head.header("sec-fetch-site"));
  const bool foreign = !origin.empty() && lower(authority_of(origin)) != lower(host);
  if (foreign || site == "cross-site" || site == "same-site") {
    return {403, "a page of another origin cannot change anything here"};
  }
  const std::string type = lower(head.header("content-type"));
  if (json_only && type != "application/json" && !type.starts_with("application/json;")) {
    return {415, "this place takes application/json: say so in Content-Type"};
  }
  return {};
}

}  // namespace headway::collector
