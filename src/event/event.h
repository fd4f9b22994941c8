// One decoded event, and where streams of them come from. A stream is what one journal (or one
// rank's lines of a JSON-lines file) says, in the order in which it said it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event/vocabulary.h"

namespace headway::event {

// Same width as a journal record; t_ns is real-time ns by the attempt's frozen anchor.
struct Event {
  std::int64_t t_ns = 0;
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::uint16_t name = 0;
  std::uint16_t lane = 0;
  EventType type = EventType::none;
};
static_assert(sizeof(Event) == 32);

// What `a` and `b` of a failure or exit mark hold.
struct EndInfo {
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;
  int origin = HW_ORIGIN_NONE;
  std::uint32_t rank = HW_RANK_UNKNOWN;
  NameId reason = 0;
};
std::int64_t pack_end_a(const EndInfo& info);
std::int64_t pack_end_b(const EndInfo& info);
EndInfo unpack_end(std::int64_t a, std::int64_t b);

// Names by id, shared by all streams of one job. Ids below kUserFirst are the built-in phases'.
// Bounded: beyond names_max every new text becomes kOtherName and is counted.
class NameTable {
 public:
  static constexpr std::size_t names_max = 60000;
  static constexpr NameId kOtherName = kUserFirst;  // "~other"
  NameTable();
  NameId intern(std::string_view text);
  [[nodiscard]] std::string_view text(NameId id) const;  // "" when unknown
  [[nodiscard]] std::size_t size() const { return texts_.size(); }
  [[nodiscard]] std::uint64_t overflowed() const { return overflowed_; }

 private:
  std::vector<std::unique_ptr<std::string>> texts_;
  std::unordered_map<std::string_view, NameId> ids_;
  std::uint64_t overflowed_ = 0;
};

// What is known of a stream besides its events.
struct StreamInfo {
  std::string job;
  std::int64_t attempt = 0;
  std::uint32_t rank = 0;        // kAgentRank: the launcher's own
  std::uint32_t world_size = 0;  // 0: not stated
  std::string host;
  std::string origin;  // file it came from, for messages
};

// What a stream could not deliver, known once it is exhausted.
struct StreamLoss {
  std::uint64_t dropped_records = 0;      // counted by the writer
  std::uint64_t damaged_records = 0;      // failed their check
  std::uint64_t uncommitted_records = 0;  // reserved by a writer that died
  std::uint64_t clock_jumps = 0;          // real-time anchors that moved by more than a second
  std::int64_t clock_jump_ns = 0;
  std::string note;  // one line when something was lost, else empty
};

// A pull stream. next() returns the next batch, empty when there is nothing more (a live journal
// may have more later). The span is valid until the next call. Name ids are of the job's NameTable.
class EventSource {
 public:
  virtual ~EventSource() = default;
  virtual std::span<const Event> next() = 0;
  [[nodiscard]] virtual const StreamInfo& info() const = 0;
  [[nodiscard]] virtual StreamLoss loss() const = 0;
};

// A source over events that are already in memory: tests, importers.
class VectorSource final : public EventSource {
 public:
  VectorSource(StreamInfo info, std::vector<Event> events)
      : info_(std::move(info)), events_(std::move(events)) {}
  std::span<const Event> next() override;
  [[nodiscard]] const StreamInfo& info() const override { return info_; }
  [[nodiscard]] StreamLoss loss() const override { return {}; }

 private:
  StreamInfo info_;
  std::vector<Event> events_;
  bool done_ = false;
};

}  // namespace headway::event
