#include "fleet/chunk.h"

#include <algorithm>

#include "base/check.h"

namespace headway::fleet {
namespace {

using timeline::kBuckets;
using timeline::Sums;

std::uint32_t mask_of(const Sums& sums) {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (sums.ns[i] != 0) mask |= 1u << i;
  }
  return mask;
}

std::uint32_t size_of(const auto& column) {
  HW_CHECK(column.size() < Chunk::kNone);
  return static_cast<std::uint32_t>(column.size());
}

// Where its values begin.
std::uint32_t pack(const Sums& sums, std::vector<std::int64_t>& values) {
  const std::uint32_t at = size_of(values);
  for (const std::int64_t ns : sums.ns) {
    if (ns != 0) values.push_back(ns);
  }
  return at;
}

void pack_over(const Sums& sums, std::int64_t* values) {
  for (const std::int64_t ns : sums.ns) {
    if (ns != 0) *values++ = ns;
  }
}

Sums unpack(const Packed& packed) {
  Sums sums;
  packed.each([&](std::size_t bucket, std::int64_t ns) { sums.ns[bucket] = ns; });
  return sums;
}

std::size_t bytes_of(const auto&... columns) {
  return (... + (columns.capacity() * sizeof(columns[0])));
}

}  // namespace

std::uint32_t Chunk::begin_job(std::uint32_t id) {
  jobs.push_back({id, attempts(), 0, true});
  return size_of(jobs) - 1;
}

void Chunk::cover(std::int32_t day_number) {
  day_min = std::min(day_min, day_number);
  day_max = std::max(day_max, day_number);
}

void Chunk::put_fixed(std::uint32_t at, const EncodedAttempt& row) {
  attempt[at] = row.attempt;
  begin_ns[at] = row.begin_ns;
  end_ns[at] = row.end_ns;
  for (std::size_t i = 0; i < kDimensions; ++i) dimensions[i][at] = row.dimensions[i];
  devices[at] = row.devices;
  levers[at] = row.levers;
  ending[at] = row.ending;
  cover(day_of(row.begin_ns));
  cover(day_of(row.end_ns));
  if (row.has_failure) cover(day_of(row.failure.t_ns));
}

void Chunk::put_slice(std::uint32_t at, const EncodedAttempt::Part& part) {
  day[at] = part.day;
  wall_ns[at] = part.sums.total();
  effective_ns[at] = part.sums[timeline::Bucket::effective];
  failure_ns[at] = part.failure_ns;
  queued_ns[at] = part.queued_ns;
  saves[at] = part.saves;
  cover(part.day);
}

void Chunk::put_start(std::uint32_t at, const EncodedAttempt::Begun& begun) {
  from_ns[at] = begun.from_ns;
  trained_ns[at] = begun.trained_ns;
  outside_ns[at] = begun.outside_ns;
  recovery[at] = begun.recovery ? 1 : 0;
  cover(day_of(begun.from_ns));
}

void Chunk::append(const EncodedAttempt& row) {
  HW_CHECK(!jobs.empty() && jobs.back().live);
  HW_CHECK(jobs.back().first + jobs.back().count == attempts());
  const std::uint32_t at = attempts();
  attempt.emplace_back();
  begin_ns.emplace_back();
  end_ns.emplace_back();
  for (auto& column : dimensions) column.emplace_back();
  devices.emplace_back();
  levers.emplace_back();
  ending.emplace_back();
  put_fixed(at, row);
  for (const EncodedAttempt::Part& part : row.slices) {
    const std::uint32_t slice = size_of(day);
    day.emplace_back();
    wall_ns.emplace_back();
    effective_ns.emplace_back();
    failure_ns.emplace_back();
    queued_ns.emplace_back();
    saves.emplace_back();
    put_slice(slice, part);
    slice_mask.push_back(mask_of(part.sums));
    slice_value.push_back(pack(part.sums, values));
  }
  first_slice.push_back(size_of(day));
  hosts.insert(hosts.end(), row.hosts.begin(), row.hosts.end());
  first_host.push_back(size_of(hosts));
  start.push_back(row.has_start ? size_of(from_ns) : kNone);
  if (row.has_start) {
    from_ns.emplace_back();
    trained_ns.emplace_back();
    outside_ns.emplace_back();
    recovery.emplace_back();
    put_start(start.back(), row.start);
    start_mask.push_back(mask_of(row.start.parts));
    start_value.push_back(pack(row.start.parts, values));
  }
  failure.push_back(row.has_failure ? size_of(failures) : kNone);
  if (row.has_failure) failures.push_back(row.failure);
  cache.push_back(row.cache ? size_of(caches) : kNone);
  if (row.cache) caches.push_back(*row.cache);
  ++jobs.back().count;
}

bool Chunk::same_shape(std::uint32_t at, const EncodedAttempt& row) const {
  const std::uint32_t slice = first_slice[at];
  if (first_slice[at + 1] - slice != row.slices.size()) return false;
  if (first_host[at + 1] - first_host[at] != row.hosts.size()) return false;
  if ((start[at] != kNone) != row.has_start || (failure[at] != kNone) != row.has_failure) {
    return false;
  }
  if ((cache[at] != kNone) != row.cache.has_value()) return false;
  for (std::uint32_t i = 0; i < row.slices.size(); ++i) {
    if (slice_mask[slice + i] != mask_of(row.slices[i].sums)) return false;
  }
  return !row.has_start || start_mask[start[at]] == mask_of(row.start.parts);
}

void Chunk::overwrite(std::uint32_t at, const EncodedAttempt& row) {
  HW_CHECK(same_shape(at, row));
  put_fixed(at, row);
  for (std::uint32_t i = 0; i < row.slices.size(); ++i) {
    const std::uint32_t slice = first_slice[at] + i;
    put_slice(slice, row.slices[i]);
    pack_over(row.slices[i].sums, values.data() + slice_value[slice]);
  }
  std::ranges::copy(row.hosts, hosts.begin() + first_host[at]);
  if (row.has_start) {
    put_start(start[at], row.start);
    pack_over(row.start.parts, values.data() + start_value[start[at]]);
  }
  if (row.has_failure) failures[failure[at]] = row.failure;
  if (row.cache) caches[cache[at]] = *row.cache;
}

void Chunk::read(std::uint32_t at, EncodedAttempt& out) const {
  out.attempt = attempt[at];
  out.begin_ns = begin_ns[at];
  out.end_ns = end_ns[at];
  for (std::size_t i = 0; i < kDimensions; ++i) out.dimensions[i] = dimensions[i][at];
  out.devices = devices[at];
  out.levers = levers[at];
  out.ending = ending[at];
  out.slices.clear();
  for (std::uint32_t i = first_slice[at]; i < first_slice[at + 1]; ++i) {
    out.slices.push_back({day[i], unpack(slice_buckets(i)), failure_ns[i], queued_ns[i], saves[i]});
  }
  out.hosts.assign(hosts.begin() + first_host[at], hosts.begin() + first_host[at + 1]);
  out.has_start = start[at] != kNone;
  if (out.has_start) {
    const std::uint32_t row = start[at];
    out.start = {from_ns[row], trained_ns[row], outside_ns[row], recovery[row] != 0,
                 unpack(start_buckets(row))};
  }
  out.has_failure = failure[at] != kNone;
  if (out.has_failure) out.failure = failures[failure[at]];
  out.cache = cache[at] == kNone ? std::nullopt : std::optional(caches[cache[at]]);
}

std::size_t Chunk::bytes() const {
  std::size_t sum = sizeof(Chunk);
  for (const auto& column : dimensions) sum += bytes_of(column);
  return sum +
         bytes_of(jobs, attempt, begin_ns, end_ns, devices, levers, ending, first_slice, first_host,
                  start, failure, cache) +
         bytes_of(day, wall_ns, effective_ns, failure_ns, queued_ns, saves, slice_mask,
                  slice_value) +
         bytes_of(from_ns, trained_ns, outside_ns, recovery, start_mask, start_value) +
         bytes_of(failures, caches, hosts, values);
}

}  // namespace headway::fleet
