#include "collector/access.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace headway::collector {

using store::Role;

std::optional<double> Bucket::take(std::int64_t now_ns) {
  if (last_ns_ != INT64_MIN && now_ns > last_ns_) {
    level_ = std::min(burst_, level_ + per_second_ * static_cast<double>(now_ns - last_ns_) / 1e9);
  }
  last_ns_ = std::max(last_ns_, now_ns);
  if (level_ < 1) return (1 - level_) / per_second_;
  level_ -= 1;
  return {};
}

namespace {

constexpr std::string_view kScheme = "Bearer ";

bool may(Role role, Role needed) {
  return role == Role::admin || role == needed;
}

Decision too_many(double wait_s, std::string why) {
  Decision decision;
  decision.status = 429;
  decision.why = std::move(why);
  decision.retry_after_s = static_cast<int>(std::ceil(std::min(wait_s, 3600.0)));
  return decision;
}

}  // namespace

void Access::use(std::vector<store::Token> tokens, std::optional<std::string> open_tenant) {
  const std::lock_guard lock(mutex_);
  std::vector<Holder> holders;
  for (store::Token& token : tokens) {
    const auto same =
        std::ranges::find(holders_, token.id, [](const Holder& h) { return h.token.id; });
    Bucket bucket = same != holders_.end() ? same->bucket
                                           : Bucket(limits_.requests_per_s, limits_.requests_burst);
    holders.push_back({std::move(token), bucket});
  }
  holders_ = std::move(holders);
  open_tenant_ = std::move(open_tenant);
}

// Said to an address that guesses: less and less often.
Decision Access::wrong(const std::string& peer, std::string why, std::int64_t now_ns) {
  // Forgetting one is harmless: it may guess a few times more, of 2^256.
  if (mistakes_.size() >= limits_.addresses_max && !mistakes_.contains(peer)) {
    mistakes_.erase(mistakes_.begin());
  }
  Bucket& bucket =
      mistakes_.try_emplace(peer, limits_.mistakes_per_s, limits_.mistakes_burst).first->second;
  if (const auto wait_s = bucket.take(now_ns)) {
    return too_many(*wait_s, "too many requests with a wrong token or none");
  }
  Decision decision;
  decision.status = 401;
  decision.why = std::move(why);
  return decision;
}

Access::Holder* Access::find(std::string_view authorization) {
  if (!authorization.starts_with(kScheme)) return nullptr;
  const base::Sha256 hash = token_hash(authorization.substr(kScheme.size()));
  // All are compared, and each to its end: the time tells nothing.
  Holder* found = nullptr;
  for (Holder& holder : holders_) {
    if (CRYPTO_memcmp(hash.data(), holder.token.hash.data(), hash.size()) == 0) found = &holder;
  }
  return found;
}

std::optional<Asker> Access::asker(std::string_view authorization) {
  const std::lock_guard lock(mutex_);
  if (holders_.empty() && open_tenant_) return Asker{*open_tenant_, 0, "", "open"};
  const Holder* found = find(authorization);
  if (found == nullptr) return std::nullopt;
  const store::Token& token = found->token;
  return Asker{token.tenant, token.id, token.label, role_name(token.role)};
}

bool Access::is_good(std::int64_t token) {
  const std::lock_guard lock(mutex_);
  if (holders_.empty() && open_tenant_) return true;
  return std::ranges::any_of(holders_, [&](const Holder& each) { return each.token.id == token; });
}

bool Access::is_open() {
  const std::lock_guard lock(mutex_);
  return holders_.empty() && open_tenant_.has_value();
}

Decision Access::decide(std::string_view authorization, const std::string& peer, Role needed,
                        std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (holders_.empty() && open_tenant_) {
    Decision decision;
    decision.allowed = true;
    decision.tenant = *open_tenant_;
    decision.role = Role::admin;
    return decision;
  }
  if (holders_.empty()) {
    return wrong(peer, "this collector has no token: make one with `headway serve token add`",
                 now_ns);
  }
  if (!authorization.starts_with(kScheme)) {
    return wrong(peer, "a token is needed: \"Authorization: Bearer TOKEN\"", now_ns);
  }
  Holder* found = find(authorization);
  if (found == nullptr) return wrong(peer, "no such token", now_ns);
  if (!may(found->token.role, needed)) {
    Decision decision;
    decision.status = 403;
    decision.label = found->token.label;
    decision.why = "this token is for " + std::string(role_name(found->token.role)) +
                   ", and this needs one for " + std::string(role_name(needed));
    return decision;
  }
  if (const auto wait_s = found->bucket.take(now_ns)) {
    Decision decision = too_many(*wait_s, "too many requests with this token");
    decision.label = found->token.label;
    return decision;
  }
  Decision decision;
  decision.allowed = true;
  decision.tenant = found->token.tenant;
  decision.role = found->token.role;
  decision.label = found->token.label;
  return decision;
}

std::string draw_token() {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, 43> random{};
  HW_CHECK(::getrandom(random.data(), random.size(), 0) == static_cast<ssize_t>(random.size()));
  std::string token = "hw_";
  for (const unsigned char byte : random) token += kLetters[byte % kLetters.size()];
  OPENSSL_cleanse(random.data(), random.size());
  return token;
}

base::Sha256 token_hash(std::string_view token) {
  return base::sha256(std::as_bytes(std::span(token)));
}

}  // namespace headway::collector
