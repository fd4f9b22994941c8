#include "collector/watched_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace headway::collector {
namespace {

using fleet::AttemptFacts;

std::uint64_t key_of(const std::string& job, std::int64_t attempt) {
  return std::hash<std::string>()(fmt::format("{}/{}", job, attempt));
}

std::size_t heap_bytes(const std::string& text) {
  return text.capacity() > std::string().capacity() ? text.capacity() + 1 : 0;
}

std::size_t heap_bytes(const std::vector<std::string>& texts) {
  std::size_t sum = texts.capacity() * sizeof(std::string);
  for (const std::string& text : texts) sum += heap_bytes(text);
  return sum;
}

// With its name and its place; an attempt on thousands of hosts is as large as hundreds of others.
std::size_t bytes_of(const AttemptFacts& facts, const std::string& job) {
  constexpr std::size_t place_bytes = 48;
  std::size_t sum = sizeof(AttemptFacts) + sizeof(std::string) + heap_bytes(job) + place_bytes;
  for (const std::string& text : facts.dimensions) sum += heap_bytes(text);
  sum += heap_bytes(facts.levers) + heap_bytes(facts.hosts);
  sum += facts.slices.capacity() * sizeof(fleet::Slice);
  if (facts.failure) sum += heap_bytes(facts.failure->category) + heap_bytes(facts.failure->host);
  return sum;
}

}  // namespace

void WatchedFacts::put(const std::string& job, AttemptFacts facts) {
  HW_CHECK(!facts.slices.empty());
  facts.job = std::max<std::uint64_t>(1, std::hash<std::string>()(job));
  const std::uint64_t key = key_of(job, facts.attempt);
  left_out_.erase(key);
  bytes_ += bytes_of(facts, job);
  const auto [place, fresh] = places_.try_emplace(key, facts_.size());
  if (fresh) {
    facts_.push_back(std::move(facts));
    jobs_.push_back(job);
  } else {
    bytes_ -= bytes_of(facts_[place->second], jobs_[place->second]);
    facts_[place->second] = std::move(facts);
  }
  if (bytes_ > bytes_max_ + bytes_max_ / 4) push_out_oldest();
}

void WatchedFacts::keep_from(std::int32_t oldest_day) {
  std::erase_if(left_out_, [&](const auto& each) { return each.second < oldest_day; });
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    if (facts_[i].slices.back().day >= oldest_day) kept.push_back(i);
  }
  if (kept.size() < facts_.size()) keep(kept);
  if (bytes_ > bytes_max_) push_out_oldest();
}

void WatchedFacts::push_out_oldest() {
  std::vector<std::size_t> newest_first(facts_.size());
  std::iota(newest_first.begin(), newest_first.end(), std::size_t{0});
  std::ranges::stable_sort(newest_first, std::greater<>(),
                           [&](std::size_t i) { return facts_[i].end_ns; });
  std::size_t sum = 0;
  const auto first_out = std::ranges::find_if(newest_first, [&](std::size_t i) {
    sum += bytes_of(facts_[i], jobs_[i]);
    return sum > bytes_max_;
  });
  for (auto each = first_out; each != newest_first.end(); ++each) {
    if (left_out_.size() >= left_out_max) break;
    left_out_[key_of(jobs_[*each], facts_[*each].attempt)] = facts_[*each].slices.back().day;
  }
  newest_first.erase(first_out, newest_first.end());
  std::ranges::sort(newest_first);  // as they came in
  keep(newest_first);
}

// `kept` in the order of facts_: each moves to the front, where nothing is that is still needed.
void WatchedFacts::keep(const std::vector<std::size_t>& kept) {
  places_.clear();
  bytes_ = 0;
  for (std::size_t to = 0; to < kept.size(); ++to) {
    const std::size_t from = kept[to];
    HW_CHECK(from >= to);
    if (from > to) {
      facts_[to] = std::move(facts_[from]);
      jobs_[to] = std::move(jobs_[from]);
    }
    bytes_ += bytes_of(facts_[to], jobs_[to]);
    places_.emplace(key_of(jobs_[to], facts_[to].attempt), to);
  }
  facts_.resize(kept.size());
  jobs_.resize(kept.size());
}

}  // namespace headway::collector
