// What an address looks like. Pure.
#pragma once

#include <string_view>

namespace headway::cluster {

// 127.0.0.0/8, ::1, and the former inside an IPv6 address.
inline bool is_loopback(std::string_view address) {
  if (address.starts_with("::ffff:")) address.remove_prefix(7);
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

}  // namespace headway::cluster
