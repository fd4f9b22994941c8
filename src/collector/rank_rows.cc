#include "collector/rank_rows.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "record/slot_reader.h"

namespace headway::collector {

using base::Status;
using timeline::LaneWindow;

namespace {

// How a whole attempt is kept: as it is up to so many segments (1.5 MB), else in slices.
constexpr std::uint32_t kept_segments_max = 65'536, kept_slices = 8192;
constexpr std::size_t saves_max = 10'000;  // of a rank

std::vector<KeptLane::Save> inside(const std::vector<KeptLane::Save>& saves,
                                   const LaneWindow& window) {
  std::vector<KeptLane::Save> out;
  std::ranges::copy_if(saves, std::back_inserter(out), [&](const KeptLane::Save& save) {
    return save.t_ns >= window.from_ns && save.t_ns < window.to_ns;
  });
  return out;
}

}  // namespace

RankRows::RankRows(store::Store& store, LaneCache& cache, store::JobRow job,
                   const ReadLimits& limits)
    : store_(store),
      cache_(cache),
      job_(std::move(job)),
      limits_(limits),
      begun_ns_(base::monotonic_ns()) {}

Status RankRows::open() {
  auto journals = store_.journals(job_.key);
  if (!journals.ok()) return journals.status();
  for (const store::JournalRow& row : *journals) {
    const event::StreamInfo info = record::stream_info(row.head.journal, row.head.name);
    if (info.rank == HW_RANK_AGENT) continue;
    journals_[{static_cast<std::int64_t>(row.progress.attempt), info.rank}] = {
        info.host, row.progress.next_slot};
  }
  return {};
}

// One drawing at a time reads; another takes what is known, and asks again.
bool RankRows::may_read() {
  if (!asked_to_read_) {
    asked_to_read_ = true;
    reading_ = cache_.try_read();
  }
  return reading_.owns_lock() && records_ < limits_.answer_records &&
         base::monotonic_ns() - begun_ns_ < limits_.answer_ns;
}

const event::Stream* RankRows::stream_of(std::int64_t attempt, std::uint32_t rank) {
  auto found = streams_.find(attempt);
  if (found == streams_.end()) {
    auto streams = stored_job(store_, job_, std::make_shared<event::NameTable>(), {},
                              static_cast<std::uint64_t>(attempt));
    if (!streams.ok()) return nullptr;
    found = streams_.emplace(attempt, std::move(*streams)).first;
  }
  const auto stream = std::ranges::find_if(found->second.streams, [&](const event::Stream& each) {
    return each.info.rank == rank && each.info.attempt == attempt;
  });
  return stream == found->second.streams.end() ? nullptr : &*stream;
}

std::optional<RankRow> RankRows::row(const RowBasis& basis, std::uint32_t rank,
                                     const LaneWindow& asked) {
  const auto journal = journals_.find({basis.attempt, rank});
  if (journal == journals_.end()) return std::nullopt;
  // Beyond the attempt there is nothing: so that its reading tells all windows.
  LaneWindow window = asked;
  window.from_ns = std::clamp(window.from_ns, basis.begin_ns, basis.end_ns);
  window.to_ns = std::clamp(window.to_ns, window.from_ns, basis.end_ns);
  if (window.to_ns > window.from_ns && asked.to_ns > asked.from_ns) {
    const double share = static_cast<double>(window.to_ns - window.from_ns) /
                         static_cast<double>(asked.to_ns - asked.from_ns);
    window.slices = std::max(1u, static_cast<std::uint32_t>(share * asked.slices));
  }
  const LaneBasis made_of{journal->second.slots, basis.high_water, basis.use_steps, basis.failed};
  const LaneKey key{job_.tenant, job_.name, basis.attempt, rank};
  auto kept = cache_.find(key, window, made_of);
  if (!kept && may_read()) {
    const event::Stream* stream = stream_of(basis.attempt, rank);
    if (stream == nullptr) return std::nullopt;
    const LaneWindow whole{basis.begin_ns, basis.end_ns, kept_slices, kept_segments_max};
    kept = read(basis, *stream, whole, made_of);
    cache_.keep(key, kept);
    // Too much for that, and somebody has gone in far.
    if (!kept->tells(window, made_of)) {
      kept = read(basis, *stream, window, made_of);
      cache_.keep(key, kept);
    }
  }
  if (!kept) {
    complete_ = false;
    return std::nullopt;
  }
  return RankRow{rank, journal->second.host, kept->cut(window), inside(kept->saves, window)};
}

std::shared_ptr<const KeptLane> RankRows::read(const RowBasis& basis, const event::Stream& stream,
                                               const LaneWindow& window, const LaneBasis& made_of) {
  auto out = std::make_shared<KeptLane>();
  out->basis = made_of;
  out->window = window;
  out->settled_ns = INT64_MIN;
  timeline::RankLane lane(window, basis.high_water, basis.use_steps);
  std::uint64_t records = 0;
  if (auto source = stream.open()) {
    bool past = false;
    for (auto events = source->next(); !events.empty() && !past && records < limits_.rank_records;
         events = source->next()) {
      records += events.size();
      for (const event::Event& e : events) {
        lane.take(e);
        if (e.type == event::EventType::step_end) out->settled_ns = e.t_ns;
        if (e.type == event::EventType::checkpoint && out->saves.size() < saves_max) {
          out->saves.push_back({e.t_ns, e.a, e.name});
        }
      }
      past = lane.is_past(events.front().t_ns);
    }
  }
  records_ += records;
  out->saves = inside(out->saves, window);
  out->lane = lane.finish(basis.failed);
  out->lane.exact = out->lane.exact && records < limits_.rank_records;
  return out;
}

}  // namespace headway::collector
