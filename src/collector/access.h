// Who may do what. Tokens by their hashes, limits on how often a token may ask and on how often an
// address may be wrong. Pure but for the lock: the time is an argument. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace headway::collector {

// The tenant of those who need no token, and of whoever runs the collector: its own counts are told
// to this tenant alone.
inline constexpr const char* kOpenTenant = "default";

// Fills at a rate up to a burst; every use takes one.
class Bucket {
 public:
  Bucket(double per_second, double burst) : per_second_(per_second), burst_(burst), level_(burst) {}
  // Seconds until there is one again; none: it has been taken.
  std::optional<double> take(std::int64_t now_ns);

 private:
  double per_second_, burst_, level_;
  std::int64_t last_ns_ = INT64_MIN;
};

struct AccessLimits {
  double requests_per_s = 2000, requests_burst = 4000;  // of one token
  double mistakes_per_s = 0.2, mistakes_burst = 10;     // of one address
  std::size_t addresses_max = 10'000;                   // that are remembered for that
};

struct Decision {
  bool allowed = false;
  int status = 0;   // of a refusal: 401, 403 or 429
  std::string why;  // of a refusal; nothing secret
  std::optional<int> retry_after_s;
  std::string tenant;
  store::Role role = store::Role::read;
  std::string label;  // of the token; empty: there was none
};

// Who was allowed to ask.
struct Asker {
  std::string tenant;
  std::int64_t token = 0;  // 0: none is needed
  std::string label;       // of the token
  std::string_view role;   // "read", "admin", …; "open" where no token is needed
};

class Access {
 public:
  explicit Access(AccessLimits limits) : limits_(limits) {}

  // Without any token everybody may do everything, as `open_tenant`: for a collector that only this
  // machine can reach. Else nobody.
  void use(std::vector<store::Token> tokens, std::optional<std::string> open_tenant);

  // `authorization`: the header's text. `needed`: what is asked for.
  Decision decide(std::string_view authorization, const std::string& peer, store::Role needed,
                  std::int64_t now_ns);
  // Of one that was allowed a moment ago; counts as nothing. None: it has been taken back since.
  [[nodiscard]] std::optional<Asker> asker(std::string_view authorization);
  // Whether that token (or none: 0) still lets somebody in.
  [[nodiscard]] bool is_good(std::int64_t token);
  // No token is needed.
  [[nodiscard]] bool is_open();

 private:
  struct Holder {
    store::Token token;
    Bucket bucket;
  };
  Holder* find(std::string_view authorization);
  Decision wrong(const std::string& peer, std::string why, std::int64_t now_ns);

  const AccessLimits limits_;
  std::mutex mutex_;
  std::vector<Holder> holders_;
  std::optional<std::string> open_tenant_;
  std::map<std::string, Bucket> mistakes_;  // by address
};

// A new one from the system's random source, "hw_" and 43 letters; and what is kept of it.
[[nodiscard]] std::string draw_token();
[[nodiscard]] base::Sha256 token_hash(std::string_view token);

}  // namespace headway::collector
