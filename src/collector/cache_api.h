// /api/v1/caches: compile caches that jobs share, over HTTP. What is done with the bytes is
// cache_room.h's. Has threads of its own, since disks take their time: who asks for a report does
// not wait for somebody else's archive.
#pragma once

#include <memory>
#include <string>

#include "collector/cache_room.h"
#include "collector/route.h"
#include "collector/workers.h"
#include "net/http_server.h"

namespace headway::collector {

class CacheApi {
 public:
  explicit CacheApi(CacheRoomOptions options);

  // Of a request's method: which role it needs; none: the place does not take it.
  [[nodiscard]] static std::optional<store::Role> role_for(const Route& route,
                                                           std::string_view method);
  static constexpr const char* methods = "GET, PUT, DELETE";
  void offer(const Route& route, const std::string& tenant, net::ServerRequest request,
             std::shared_ptr<net::Reply> reply);

 private:
  net::ServerAnswer answer(const Route& route, const std::string& tenant,
                           const net::ServerRequest& request);
  net::ServerAnswer list(const std::string& tenant, const net::ServerRequest& request);
  net::ServerAnswer take(const std::string& name, const std::string& tenant,
                         const net::ServerRequest& request);
  net::ServerAnswer read(const std::string& name, const std::string& tenant,
                         const net::ServerRequest& request);

  CacheRoom room_;
  Workers workers_;
};

// "bytes=5-9" → 5, 10. None: anything else, several ranges and open ones included. Pure.
[[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> range_of(
    std::string_view header);

}  // namespace headway::collector
