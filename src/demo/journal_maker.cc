#include "demo/journal_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "record/journal_header.h"

namespace headway::demo {

using event::EventType;
using event::NameId;

namespace {

constexpr std::uint64_t kTicksPerSecond = 1'000'000'000;
constexpr std::uint64_t kFirstTick = 1;

void copy_text(std::string_view text, char* into, std::size_t room) {
  text.copy(into, room - 1);
}

}  // namespace

JournalMaker::JournalMaker(const JournalIdentity& identity) : begin_ns_(identity.begin_ns) {
  header_.clock_kind = static_cast<std::uint32_t>(event::ClockKind::tsc);
  header_.attempt = identity.attempt;
  header_.rank = identity.rank;
  header_.local_rank = identity.rank == HW_RANK_AGENT ? 0 : identity.rank;
  header_.world_size = identity.world_size;
  header_.pid = 1000 + identity.rank % 1000;
  header_.clock_hz = kTicksPerSecond;
  header_.anchor_ticks = kFirstTick;
  header_.anchor_monotonic_ns = 1;
  header_.anchor_real_ns = begin_ns_;
  copy_text(identity.job, header_.job, sizeof(header_.job));
  copy_text(identity.host, header_.host, sizeof(header_.host));
  header_.slots_max = 1u << 24;
  record::finish_header(header_);
  file_ = identity.rank == HW_RANK_AGENT ? fmt::format("agent-{}.hwj", identity.host)
                                         : fmt::format("rank-{:05}.hwj", identity.rank);
}

void JournalMaker::put(EventType type, std::uint64_t t, std::int64_t a, std::int64_t b,
                       std::uint16_t name, std::uint16_t lane) {
  event::Record record{t, a, b, name, lane, 0};
  record.commit = event::commit_word(event::record_check(t, a, b, name, lane, type), type);
  records_.push_back(record);
}

void JournalMaker::add(EventType type, std::int64_t t_ns, std::uint16_t name, std::int64_t a,
                       std::int64_t b) {
  t_ns = std::max(t_ns, times_.empty() ? begin_ns_ : times_.back());
  put(type, kFirstTick + static_cast<std::uint64_t>(t_ns - begin_ns_), a, b, name, 0);
  // Names that were put for it came just before.
  times_.resize(records_.size(), t_ns);
}

void JournalMaker::span(std::int64_t t0_ns, std::int64_t t1_ns, event::PhaseId phase, bool warm) {
  add(EventType::begin, t0_ns, phase);
  add(EventType::end, t1_ns, phase, warm ? 1 : 0);
}

void JournalMaker::step(std::int64_t t0_ns, std::int64_t t1_ns, std::int64_t number,
                        std::int64_t data) {
  add(EventType::step, t0_ns, 0, number, data);
  add(EventType::step_end, t1_ns, 0, number, data);
}

void JournalMaker::attr(std::int64_t t_ns, std::string_view key, std::string_view value) {
  const NameId key_id = name(key), value_id = name(value);
  add(EventType::attr, t_ns, key_id, value_id);
}

NameId JournalMaker::name(std::string_view text) {
  text = text.substr(0, event::kNameBytesMax);
  if (const auto known = names_.find(text); known != names_.end()) return known->second;
  const auto id = static_cast<NameId>(event::kOtherNameId + 1 + names_.size());
  names_.emplace(text, id);
  const std::size_t part_bytes = event::kNameBytesPerRecord;
  const auto parts = static_cast<std::uint32_t>(
      std::max<std::size_t>(1, (text.size() + part_bytes - 1) / part_bytes));
  for (std::uint32_t part = 0; part < parts; ++part) {
    std::uint64_t words[3] = {};
    const std::string_view piece =
        text.substr(std::min(text.size(), part * part_bytes), part_bytes);
    std::memcpy(words, piece.data(), piece.size());
    put(EventType::name, words[0], static_cast<std::int64_t>(words[1]),
        static_cast<std::int64_t>(words[2]), id, event::name_part_lane(part, parts));
  }
  return id;
}

std::size_t JournalMaker::records_before(std::int64_t t_ns) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(times_, t_ns) - times_.begin());
}

}  // namespace headway::demo
