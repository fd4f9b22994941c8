#include "agent/local_address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace headway::agent {
namespace {

bool same_host(const sockaddr& a, const sockaddr& b) {
  if (a.sa_family != b.sa_family) return false;
  if (a.sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
  }
  return a.sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr, sizeof(in6_addr)) == 0;
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  }
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

}  // namespace

bool is_local_address(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  ifaddrs* own = nullptr;
  if (::getifaddrs(&own) != 0) own = nullptr;
  bool local = false;
  for (const addrinfo* it = found; it != nullptr && !local; it = it->ai_next) {
    local = is_loopback(*it->ai_addr);  // Debian's 127.0.1.1 is on no interface
    for (const ifaddrs* face = own; face != nullptr && !local; face = face->ifa_next) {
      local = face->ifa_addr != nullptr && same_host(*face->ifa_addr, *it->ai_addr);
    }
  }
  if (own != nullptr) ::freeifaddrs(own);
  ::freeaddrinfo(found);
  return local;
}

std::string machine_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

}  // namespace headway::agent
