// A journal as a recorder would have written it, made from events with times of one's choosing:
// what a made-up job is told by. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.h"
#include "event/record.h"

namespace headway::demo {

struct JournalIdentity {
  std::string job;
  std::uint64_t attempt = 0;
  std::uint32_t rank = 0;  // HW_RANK_AGENT: the launcher's
  std::uint32_t world_size = 1;
  std::string host;
  std::int64_t begin_ns = 0;  // real time; nothing is earlier
};

class JournalMaker {
 public:
  explicit JournalMaker(const JournalIdentity& identity);

  void add(event::EventType type, std::int64_t t_ns, std::uint16_t name = 0, std::int64_t a = 0,
           std::int64_t b = 0);
  void span(std::int64_t t0_ns, std::int64_t t1_ns, event::PhaseId phase, bool warm = false);
  void step(std::int64_t t0_ns, std::int64_t t1_ns, std::int64_t number, std::int64_t data);
  void attr(std::int64_t t_ns, std::string_view key, std::string_view value);
  event::NameId name(std::string_view text);

  [[nodiscard]] const event::HeaderFields& header() const { return header_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<event::Record>& records() const { return records_; }
  // Those that lie before `t_ns`. Names have the time of what follows them.
  [[nodiscard]] std::size_t records_before(std::int64_t t_ns) const;

 private:
  void put(event::EventType type, std::uint64_t t, std::int64_t a, std::int64_t b,
           std::uint16_t name, std::uint16_t lane);

  event::HeaderFields header_{};
  std::string file_;
  std::int64_t begin_ns_;
  std::vector<event::Record> records_;
  std::vector<std::int64_t> times_;  // as records_, ascending
  std::map<std::string, event::NameId, std::less<>> names_;
};

}  // namespace headway::demo
