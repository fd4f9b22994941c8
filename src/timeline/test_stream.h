// For tests: writes a job as one would tell it, in seconds.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "event/stream.h"
#include "timeline/job.h"

namespace headway::timeline::test {

inline std::int64_t sec(double s) {
  return static_cast<std::int64_t>(s * 1e9 + (s < 0 ? -0.5 : 0.5));
}

class Story {
 public:
  Story() {
    streams_.names = std::make_shared<event::NameTable>();
    streams_.job = "j";
  }

  // Everything that follows is said by this attempt and rank.
  Story& as(std::int64_t attempt, std::uint32_t rank = 0) {
    attempt_ = attempt;
    rank_ = rank;
    return *this;
  }
  Story& mark(double t, std::uint16_t mark) { return put(t, event::EventType::mark, mark); }
  Story& fail(double t, event::EndInfo info = {}) {
    return put(t, event::EventType::mark, HW_MARK_FAILURE, event::pack_end_a(info),
               event::pack_end_b(info));
  }
  Story& exit(double t, event::EndInfo info = {}) {
    return put(t, event::EventType::mark, HW_MARK_EXIT, event::pack_end_a(info),
               event::pack_end_b(info));
  }
  Story& attr(double t, const char* key, const char* value) {
    return put(t, event::EventType::attr, names().intern(key), names().intern(value));
  }
  Story& span(double t0, double t1, event::PhaseId phase, std::uint16_t lane = 0) {
    put(t0, event::EventType::begin, phase, 0, 0, lane);
    return put(t1, event::EventType::end, phase, 0, 0, lane);
  }
  Story& begin(double t, event::PhaseId phase, std::uint16_t lane = 0) {
    return put(t, event::EventType::begin, phase, 0, 0, lane);
  }
  Story& end(double t, event::PhaseId phase, std::int64_t a = 0, std::uint16_t lane = 0) {
    return put(t, event::EventType::end, phase, a, 0, lane);
  }
  Story& step(double t0, double t1, std::int64_t n, std::int64_t data = HW_NO_DATA) {
    put(t0, event::EventType::step, 0, n, data);
    return put(t1, event::EventType::step_end, 0, n, data);
  }
  Story& step_end(double t, std::int64_t n, std::int64_t data = HW_NO_DATA) {
    return put(t, event::EventType::step_end, 0, n, data);
  }
  // `count` steps of `each` seconds from t, numbered from n.
  Story& steps(double t, double each, std::int64_t n, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      step(t + each * static_cast<double>(i), t + each * static_cast<double>(i + 1), n + i);
    }
    return *this;
  }
  Story& durable(double t, std::int64_t n, std::int64_t data = HW_NO_DATA) {
    return put(t, event::EventType::checkpoint, HW_CHECKPOINT_DURABLE, n, data);
  }
  Story& restore(double t, std::int64_t n, std::int64_t data = HW_NO_DATA) {
    return put(t, event::EventType::restore, 0, n, data);
  }
  Story& restore_from(double t, std::int64_t n, const char* tier) {
    return put(t, event::EventType::restore, names().intern(tier), n, HW_NO_DATA);
  }
  Story& hang(double t, double since, std::uint32_t rank) {
    return put(t, event::EventType::hang, 0, sec(since), rank);
  }
  Story& device_done(double t, std::int64_t n) {
    return put(t, event::EventType::device_done, 0, n);
  }
  Story& put(double t, event::EventType type, std::uint16_t name, std::int64_t a = 0,
             std::int64_t b = 0, std::uint16_t lane = 0) {
    return put_ns(sec(t), type, name, a, b, lane);
  }
  Story& put_ns(std::int64_t t_ns, event::EventType type, std::uint16_t name, std::int64_t a = 0,
                std::int64_t b = 0, std::uint16_t lane = 0) {
    event::Event e;
    e.t_ns = t_ns;
    e.type = type;
    e.name = name;
    e.a = a;
    e.b = b;
    e.lane = lane;
    events_[{attempt_, rank_}].push_back(e);
    return *this;
  }
  event::NameTable& names() { return *streams_.names; }

  [[nodiscard]] event::JobStreams streams() const {
    event::JobStreams out = streams_;
    for (const auto& [key, events] : events_) {
      event::StreamInfo info;
      info.job = "j";
      info.attempt = key.first;
      info.rank = key.second;
      info.origin = "story";
      out.streams.push_back(
          {info, [info, events] { return std::make_unique<event::VectorSource>(info, events); }});
    }
    return out;
  }
  [[nodiscard]] JobResult tell(std::optional<double> now = std::nullopt) const {
    JobOptions options;
    if (now) options.now_ns = sec(*now);
    return attribute_job(streams(), options);
  }

 private:
  event::JobStreams streams_;
  std::map<std::pair<std::int64_t, std::uint32_t>, std::vector<event::Event>> events_;
  std::int64_t attempt_ = 1;
  std::uint32_t rank_ = 0;
};

}  // namespace headway::timeline::test
