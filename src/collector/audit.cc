#include "collector/audit.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>
#include <vector>

#include "base/clock.h"

namespace headway::collector {
namespace {

constexpr std::size_t path_bytes_max = 300;  // of what is written; a path may be 16 KiB long
constexpr const char* kOthers = "others";

std::string line_of(const nlohmann::json& line) {
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::uint64_t Audit::Address::lines() const {
  std::uint64_t lines = 0;
  for (const auto& [status, count] : left_out) lines += count;
  return lines;
}

Audit::Audit(std::function<void(const std::string&)> write, AuditLimits limits)
    : write_(std::move(write)), limits_(limits), all_(limits.all_per_s, limits.all_burst) {}

Audit::Address& Audit::address_of(const std::string& peer, std::int64_t now_ns) {
  const auto found = addresses_.find(peer);
  if (found != addresses_.end()) return found->second;
  const bool full = addresses_.size() >= limits_.addresses_max;
  const Bucket fresh(limits_.lines_per_s, limits_.lines_burst);
  if (next_summary_ns_ == INT64_MIN) next_summary_ns_ = now_ns + limits_.summary_ns;
  return addresses_.try_emplace(full ? kOthers : peer, Address{fresh, {}}).first->second;
}

void Audit::refused(const net::Refusal& refusal, const std::string& label, std::int64_t now_ns) {
  if (!write_) return;
  const std::lock_guard lock(mutex_);
  Address& address = address_of(refusal.peer, now_ns);
  if (address.bucket.take(now_ns) || all_.take(now_ns)) {
    ++address.left_out[refusal.status];
    return;
  }
  write_(line_of({{"t_ns", base::real_ns()},
                  {"peer", refusal.peer},
                  {"method", refusal.method},
                  {"path", refusal.path.substr(0, path_bytes_max)},
                  {"status", refusal.status},
                  {"why", refusal.why},
                  {"token", label}}));
}

void Audit::summarise(const std::string& peer, const std::map<int, std::uint64_t>& left_out) const {
  nlohmann::json counts = nlohmann::json::object();
  for (const auto& [status, count] : left_out) counts[std::to_string(status)] = count;
  write_(line_of({{"t_ns", base::real_ns()}, {"peer", peer}, {"left_out", counts}}));
}

void Audit::tend(std::int64_t now_ns, bool last) {
  const std::lock_guard lock(mutex_);
  if (!write_ || addresses_.empty() || (now_ns < next_summary_ns_ && !last)) return;
  next_summary_ns_ = now_ns + limits_.summary_ns;
  std::vector<std::pair<std::string, std::map<int, std::uint64_t>*>> worst;
  for (auto& [peer, address] : addresses_) {
    if (!address.left_out.empty()) worst.emplace_back(peer, &address.left_out);
  }
  std::ranges::stable_sort(worst, std::greater<>(),
                           [&](const auto& each) { return addresses_.at(each.first).lines(); });
  std::map<int, std::uint64_t> others;
  for (std::size_t i = 0; i < worst.size(); ++i) {
    if (i < limits_.summary_lines_max) {
      summarise(worst[i].first, *worst[i].second);
    } else {
      for (const auto& [status, count] : *worst[i].second) others[status] += count;
    }
  }
  if (!others.empty()) summarise(kOthers, others);
  // One that has been quiet for a minute has earned a few lines again, and not all of them; those
  // that are not known any more have all: what all together may write bounds that.
  std::erase_if(addresses_, [](const auto& each) { return each.second.left_out.empty(); });
  for (auto& [peer, address] : addresses_) address.left_out.clear();
}

}  // namespace headway::collector
