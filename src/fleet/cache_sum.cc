#include "fleet/cache_sum.h"

namespace headway::fleet {
namespace {

constexpr std::uint32_t bit(timeline::Bucket bucket) {
  return 1u << timeline::index(bucket);
}
constexpr std::uint32_t kCompile = bit(timeline::Bucket::compile_cold) |
                                   bit(timeline::Bucket::compile_warm) |
                                   bit(timeline::Bucket::wasted_recompile);

bool has_compile_time(const Chunk& chunk, std::uint32_t at) {
  for (std::uint32_t i = chunk.first_slice[at]; i < chunk.first_slice[at + 1]; ++i) {
    if ((chunk.slice_mask[i] & kCompile) != 0) return true;
  }
  return false;
}

std::optional<double> share_pct(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void CacheSum::add(const Chunk& chunk, std::uint32_t at) {
  const std::uint32_t row = chunk.cache[at];
  const CacheFact fact = row == Chunk::kNone ? CacheFact() : chunk.caches[row];
  if (fact.graphs() == 0 && !has_compile_time(chunk, at)) return;
  ++attempts;
  asked += fact.asked ? 1 : 0;
  unpacked += fact.unpacked ? 1 : 0;
  if (fact.graphs() == 0) return;
  ++told;
  hits += fact.hits;
  misses += fact.misses;
  bypasses += fact.bypasses;
  original_ns += fact.original_ns;
  spent_ns += fact.spent_ns;
  saved_device_ns += base::Int128{fact.original_ns - fact.spent_ns} * chunk.devices[at];
}

void CacheSum::add(const CacheSum& other) {
  attempts += other.attempts;
  asked += other.asked;
  unpacked += other.unpacked;
  told += other.told;
  hits += other.hits;
  misses += other.misses;
  bypasses += other.bypasses;
  original_ns += other.original_ns;
  spent_ns += other.spent_ns;
  saved_device_ns += other.saved_device_ns;
}

std::optional<double> CacheSum::unpacked_pct() const {
  return share_pct(unpacked, attempts);
}

std::optional<double> CacheSum::hit_pct() const {
  return share_pct(hits, hits + misses);
}

std::optional<double> CacheSum::coverage_pct() const {
  return share_pct(hits + misses, hits + misses + bypasses);
}

std::optional<base::Int128> CacheSum::saved_ns() const {
  if (told == 0) return std::nullopt;
  return original_ns - spent_ns;
}

}  // namespace headway::fleet
