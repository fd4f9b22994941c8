#include "fleet/table.h"

#include <algorithm>

#include "base/check.h"
#include "base/cut_text.h"

namespace headway::fleet {
namespace {

template <std::size_t... I>
std::array<Dictionary, sizeof...(I)> dictionaries(std::uint32_t size_max,
                                                  std::index_sequence<I...>) {
  return {((void)I, Dictionary(size_max))...};
}

std::string_view cut(std::string_view text) {
  return base::cut_text(text, AttemptFacts::text_max);
}

}  // namespace

FleetTable::FleetTable()
    : dimensions_(dictionaries(values_max, std::make_index_sequence<kDimensions>())),
      jobs_(jobs_max),
      levers_(AttemptFacts::levers_max),
      hosts_(hosts_max),
      categories_(categories_max) {
  // Number 0 is where what no longer fits goes.
  for (Dictionary& each : dimensions_) each.add(kOther);
  categories_.add(kOther);
}

bool FleetTable::upsert(std::string_view job, const AttemptFacts& facts) {
  const auto id = jobs_.add(job);
  if (!id) {
    ++troubles_.attempts_refused;
    return false;
  }
  if (*id == places_.size()) places_.emplace_back();
  encode(facts, row_);
  return upsert_encoded(places_[*id], *id, row_);
}

bool FleetTable::replace_job(std::string_view job, std::span<const AttemptFacts> attempts) {
  if (const auto id = jobs_.find(job); id && places_[*id].chunk != Chunk::kNone) {
    // Where the same attempts come again, most of them fit where they are.
    const Place& place = places_[*id];
    const Chunk& chunk = *chunks_[place.chunk].chunk;
    const Chunk::Job& rows = chunk.jobs[place.job];
    bool same = rows.count == attempts.size();
    for (std::uint32_t i = 0; same && i < rows.count; ++i) {
      same = chunk.attempt[rows.first + i] == attempts[i].attempt;
    }
    if (!same) erase_job(job);
  }
  bool all = true;
  for (const AttemptFacts& facts : attempts) all = upsert(job, facts) && all;
  return all;
}

bool FleetTable::erase_job(std::string_view job) {
  const auto id = jobs_.find(job);
  if (!id || places_[*id].chunk == Chunk::kNone) return false;
  Place& place = places_[*id];
  const std::uint32_t from = place.chunk;
  attempts_ -= chunks_[from].chunk->jobs[place.job].count;
  drop_rows(place);
  place = {};
  empty_if_sparse(from);
  ++version_;
  return true;
}

bool FleetTable::upsert_encoded(Place& place, std::uint32_t id, const EncodedAttempt& row) {
  if (place.chunk == Chunk::kNone) {
    if (attempts_ >= attempts_max) {
      ++troubles_.attempts_refused;
      return false;
    }
    place.chunk = tail_for(1);
    Chunk& chunk = writable(place.chunk);
    place.job = chunk.begin_job(id);
    chunk.append(row);
    ++attempts_;
    ++version_;
    return true;
  }
  const Chunk& chunk = *chunks_[place.chunk].chunk;
  const Chunk::Job& rows = chunk.jobs[place.job];
  const auto begin = chunk.attempt.begin() + rows.first;
  const auto found = std::lower_bound(begin, begin + rows.count, row.attempt);
  const auto at = static_cast<std::uint32_t>(found - chunk.attempt.begin());
  const bool known = at < rows.first + rows.count && *found == row.attempt;
  if (!known && (attempts_ >= attempts_max || rows.count >= attempts_per_job_max)) {
    ++troubles_.attempts_refused;
    return false;
  }
  ++version_;
  attempts_ += known ? 0 : 1;
  if (known && chunk.same_shape(at, row)) {
    writable(place.chunk).overwrite(at, row);
  } else if (!known && at == chunk.attempts() && chunk.attempts() < Chunk::attempts_aim) {
    writable(place.chunk).append(row);  // the newest attempt of the newest job
  } else {
    move_job(place, &row);
  }
  return true;
}

Chunk& FleetTable::writable(std::uint32_t chunk) {
  Held& held = chunks_[chunk];
  if (held.shared) {
    held.chunk = std::make_shared<Chunk>(*held.chunk);
    held.shared = false;
  }
  snapshot_.reset();
  return *held.chunk;
}

// The chunk to add so many attempts of one job to.
std::uint32_t FleetTable::tail_for(std::uint32_t attempts) {
  if (tail_ != Chunk::kNone) {
    const std::uint32_t has = chunks_[tail_].chunk->attempts();
    if (has == 0 || has + attempts <= Chunk::attempts_aim) return tail_;
    // A copy has no space to spare.
    Held& full = chunks_[tail_];
    full = {std::make_shared<Chunk>(*full.chunk), false};
  }
  if (free_.empty()) {
    tail_ = static_cast<std::uint32_t>(chunks_.size());
    chunks_.push_back({std::make_shared<Chunk>(), false});
  } else {
    tail_ = free_.back();
    free_.pop_back();
  }
  return tail_;
}

// To the end, with one attempt replaced or added, unless that is null.
void FleetTable::move_job(Place& place, const EncodedAttempt* with) {
  const std::uint32_t from = place.chunk;
  const std::shared_ptr<const Chunk> old = chunks_[from].chunk;
  const Chunk::Job rows = old->jobs[place.job];
  const std::uint32_t to = tail_for(rows.count + 1);
  Place moved{to, 0};
  // `old` and the target may be one chunk: a row is read as a whole before another is added.
  moved.job = writable(to).begin_job(rows.id);
  Chunk& target = *chunks_[to].chunk;
  bool placed = with == nullptr;
  for (std::uint32_t i = rows.first; i < rows.first + rows.count; ++i) {
    const std::int64_t attempt = old->attempt[i];
    if (!placed && with->attempt <= attempt) {
      target.append(*with);
      placed = true;
    }
    if (with != nullptr && with->attempt == attempt) continue;
    old->read(i, moved_);
    target.append(moved_);
  }
  if (!placed) target.append(*with);
  drop_rows(place);
  place = moved;
  empty_if_sparse(from);
}

void FleetTable::drop_rows(Place& place) {
  Chunk& chunk = writable(place.chunk);
  Chunk::Job& rows = chunk.jobs[place.job];
  HW_CHECK(rows.live);
  rows.live = false;
  chunk.attempts_dead += rows.count;
}

void FleetTable::empty_if_sparse(std::uint32_t at) {
  const Chunk& chunk = *chunks_[at].chunk;
  if (chunk.attempts_dead * 2 <= chunk.attempts()) return;
  if (at == tail_ && chunk.attempts() < Chunk::attempts_aim / 2) return;
  if (at == tail_) tail_ = Chunk::kNone;
  const std::shared_ptr<const Chunk> old = chunks_[at].chunk;
  chunks_[at] = {std::make_shared<Chunk>(), false};
  snapshot_.reset();
  for (const Chunk::Job& rows : old->jobs) {
    if (!rows.live) continue;
    const std::uint32_t to = tail_for(rows.count);
    Chunk& target = writable(to);
    places_[rows.id] = {to, target.begin_job(rows.id)};
    for (std::uint32_t i = rows.first; i < rows.first + rows.count; ++i) {
      old->read(i, moved_);
      target.append(moved_);
    }
  }
  free_.push_back(at);
}

std::shared_ptr<const Snapshot> FleetTable::snapshot() {
  if (snapshot_ != nullptr) return snapshot_;
  auto made = std::make_shared<Snapshot>();
  for (Held& held : chunks_) {
    if (held.chunk->attempts() == 0) continue;
    held.shared = true;
    made->chunks_.push_back(held.chunk);
  }
  for (std::size_t i = 0; i < kDimensions; ++i) made->dimensions_[i] = dimensions_[i].view();
  made->jobs_ = jobs_.view();
  made->levers_ = levers_.view();
  made->hosts_ = hosts_.view();
  made->categories_ = categories_.view();
  made->attempts_ = attempts_;
  made->version_ = version_;
  snapshot_ = std::move(made);
  return snapshot_;
}

std::size_t FleetTable::bytes() const {
  std::size_t sum = 0;
  for (const Held& held : chunks_) sum += held.chunk->bytes();
  return sum;
}

// ---- from facts to rows ----

std::int64_t FleetTable::clamped(std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return value;
  ++troubles_.numbers_clamped;
  return std::clamp(value, low, high);
}

void FleetTable::clamp_buckets(timeline::Sums& sums) {
  for (std::int64_t& ns : sums.ns) ns = clamped(ns, 0, bucket_ns_max);
}

void FleetTable::encode_names(const AttemptFacts& facts, EncodedAttempt& out) {
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto id = dimensions_[i].add(cut(facts.dimensions[i]));
    troubles_.values_dropped += id ? 0 : 1;
    out.dimensions[i] = static_cast<std::uint16_t>(id.value_or(0));
  }
  out.levers = 0;
  for (const std::string& lever : facts.levers) {
    const auto id = levers_.add(cut(lever));
    troubles_.levers_dropped += id ? 0 : 1;
    if (id) out.levers |= std::uint64_t{1} << *id;
  }
  out.hosts.clear();
  for (const std::string& host : facts.hosts) {
    std::optional<std::uint32_t> id;
    if (out.hosts.size() < AttemptFacts::hosts_max) id = hosts_.add(cut(host));
    troubles_.hosts_dropped += id ? 0 : 1;
    if (id) out.hosts.push_back(*id);
  }
}

void FleetTable::encode_start(const Start& start, EncodedAttempt::Begun& out) {
  constexpr std::int64_t time_max = std::numeric_limits<std::int64_t>::max() - kDayNs;
  out.parts = start.parts;
  clamp_buckets(out.parts);
  out.recovery = start.recovery;
  out.from_ns = clamped(start.from_ns, 0, time_max);
  out.trained_ns = clamped(start.trained_ns, out.from_ns, time_max);
  // What is outside is what parts do not explain, so that they always add up.
  out.outside_ns = out.trained_ns - out.from_ns - out.parts.total();
}

void FleetTable::encode_failure(const FailureFact& failure, EncodedAttempt::Failed& out) {
  constexpr std::int64_t span_max = 100 * 365 * kDayNs;
  out.t_ns = std::max<std::int64_t>(failure.t_ns, 0);
  out.lost_ns = clamped(failure.lost_ns, 0, span_max);
  out.unsaved_ns = clamped(failure.unsaved_ns, 0, span_max);
  out.time_to_recover_ns = -1;
  if (failure.time_to_recover_ns) {
    out.time_to_recover_ns = clamped(*failure.time_to_recover_ns, 0, span_max);
  }
  const auto origin = static_cast<unsigned>(failure.origin);
  out.origin = origin >= 1 && origin <= 4 ? failure.origin : Origin::unknown;
  out.category = static_cast<std::uint16_t>(categories_.add(cut(failure.category)).value_or(0));
  out.host = EncodedAttempt::kNoHost;
  if (failure.host.empty()) return;
  const auto host = hosts_.add(cut(failure.host));
  troubles_.hosts_dropped += host ? 0 : 1;
  if (host) out.host = *host;
}

void FleetTable::encode(const AttemptFacts& facts, EncodedAttempt& out) {
  constexpr std::int64_t time_max = std::numeric_limits<std::int64_t>::max() - kDayNs;
  constexpr std::int32_t day_max = day_of(time_max);
  encode_names(facts, out);
  out.attempt = facts.attempt;
  out.begin_ns = clamped(facts.begin_ns, 0, time_max);
  out.end_ns = clamped(facts.end_ns, out.begin_ns, time_max);
  out.devices = static_cast<std::uint32_t>(clamped(facts.devices, 1, devices_max));
  out.ending = static_cast<unsigned>(facts.ending) <= 2 ? facts.ending : Ending::running;
  out.slices.clear();
  for (const Slice& slice : facts.slices) {
    if (out.slices.size() == AttemptFacts::slices_max) {
      ++troubles_.slices_dropped;
      continue;
    }
    EncodedAttempt::Part& part = out.slices.emplace_back();
    part.sums = slice.sums;
    clamp_buckets(part.sums);
    part.day = static_cast<std::int32_t>(clamped(slice.day, 0, day_max));
    part.failure_ns =
        clamped(slice.failure_ns, 0, part.sums.total() - part.sums[timeline::Bucket::effective]);
    part.queued_ns = clamped(slice.queued_ns, 0, bucket_ns_max);
    part.saves = slice.saves;
  }
  out.has_start = facts.start.has_value();
  if (out.has_start) encode_start(*facts.start, out.start);
  out.has_failure = facts.failure.has_value();
  if (out.has_failure) encode_failure(*facts.failure, out.failure);
  out.cache = facts.cache;
  if (!out.cache) return;
  out.cache->original_ns = clamped(out.cache->original_ns, 0, bucket_ns_max);
  out.cache->spent_ns = clamped(out.cache->spent_ns, 0, bucket_ns_max);
}

}  // namespace headway::fleet
