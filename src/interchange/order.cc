#include "interchange/order.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/check.h"

namespace headway::interchange {
namespace {

using event::Event;
using event::EventType;
using event::NameId;
using event::NameTable;

constexpr std::size_t kOpenMax = 64;  // remembered per lane; garbage may open without end
constexpr std::size_t kScanMax = 16;
constexpr int kRoundsMax = 16;
constexpr std::uint64_t kReasonMask = 0xFFFF0000ull;

bool has_reason(const Event& e) {
  return e.type == EventType::mark && (e.name == HW_MARK_FAILURE || e.name == HW_MARK_EXIT);
}

std::strong_ordering compare_text(NameId x, NameId y, const NameTable& names) {
  if (x == y) return std::strong_ordering::equal;
  if (x < event::kUserFirst && y < event::kUserFirst) return x <=> y;
  return names.text(x).compare(names.text(y)) <=> 0;
}

// A total order over content: ids that were given out in reading order compare by their text.
std::strong_ordering compare_content(const Event& x, const Event& y, const NameTable& names) {
  if (const auto c = x.t_ns <=> y.t_ns; c != 0) return c;
  if (const auto c = x.type <=> y.type; c != 0) return c;
  if (const auto c = x.lane <=> y.lane; c != 0) return c;
  if (const auto c = compare_text(x.name, y.name, names); c != 0) return c;
  if (x.type == EventType::attr) {
    return compare_text(static_cast<NameId>(x.a), static_cast<NameId>(y.a), names);
  }
  if (const auto c = x.a <=> y.a; c != 0) return c;
  if (!has_reason(x)) return x.b <=> y.b;
  const auto xb = static_cast<std::uint64_t>(x.b);
  const auto yb = static_cast<std::uint64_t>(y.b);
  if (const auto c = (xb & ~kReasonMask) <=> (yb & ~kReasonMask); c != 0) return c;
  return compare_text(static_cast<NameId>((xb & kReasonMask) >> 16),
                      static_cast<NameId>((yb & kReasonMask) >> 16), names);
}

enum Class : std::uint8_t {
  c_attr,
  c_start,
  c_end,
  c_step_end,
  c_device,
  c_step_whole,
  c_checkpoint,
  c_restore,
  c_span_whole,
  c_step_open,
  c_span_open,
  c_hang,
  c_notice,
  c_failure,
  c_exit,
  c_job_end
};

Class class_of_mark(std::uint16_t mark) {
  switch (mark) {
    case HW_MARK_PREEMPT_NOTICE:
      return c_notice;
    case HW_MARK_FAILURE:
      return c_failure;
    case HW_MARK_EXIT:
      return c_exit;
    case HW_MARK_JOB_END:
      return c_job_end;
    default:
      return c_start;
  }
}

std::uint32_t span_key(const Event& e) {
  return (static_cast<std::uint32_t>(e.lane) << 16) | e.name;
}

struct Placed {
  Event event;
  Class place = c_attr;
  std::int64_t minor = 0;  // within a class
  int pair = 0;            // begin before its own end
};

class Arranger {
 public:
  explicit Arranger(std::vector<Event>& events) : events_(events) {}

  // True: of several ends of steps at one instant one got its data only now, and may be another
  // one's duplicate, or belong elsewhere among them.
  bool run() {
    look_ahead();
    bool again = false;
    for_each_group([&](std::size_t first, std::size_t last) {
      const auto group = std::span(events_).subspan(first, last - first);
      if (group.size() > 1) arrange(group);
      bool learnt = false;
      for (Event& e : group) learnt |= follow(e);
      again |= learnt && std::ranges::count(group, EventType::step_end, &Event::type) > 1;
    });
    return again;
  }

 private:
  struct OpenStep {
    std::int64_t step = 0;
    std::int64_t data = HW_NO_DATA;
  };

  template <typename F>
  void for_each_group(F&& f) {
    for (std::size_t first = 0; first < events_.size();) {
      std::size_t last = first + 1;
      while (last < events_.size() && events_[last].t_ns == events_[first].t_ns) ++last;
      f(first, last);
      first = last;
    }
  }

  // For begins that share their instant: when does that span end? Only a later end counts.
  void look_ahead() {
    std::unordered_map<std::uint32_t, std::int64_t> next_end;
    for (std::size_t last = events_.size(); last > 0;) {
      std::size_t first = last - 1;
      while (first > 0 && events_[first - 1].t_ns == events_[last - 1].t_ns) --first;
      if (last - first > 1) {
        for (std::size_t i = first; i < last; ++i) {
          const Event& e = events_[i];
          if (e.type != EventType::begin) continue;
          if (const auto found = next_end.find(span_key(e)); found != next_end.end()) {
            ends_[{e.t_ns, span_key(e)}] = found->second;
          }
        }
      }
      for (std::size_t i = first; i < last; ++i) {
        if (events_[i].type == EventType::end) next_end[span_key(events_[i])] = events_[i].t_ns;
      }
      last = first;
    }
  }

  [[nodiscard]] std::int64_t end_of(const Event& begin) const {
    const auto found = ends_.find({begin.t_ns, span_key(begin)});
    return found == ends_.end() ? std::numeric_limits<std::int64_t>::max() : found->second;
  }

  // What else an instant holds: whether this begin has an end, this step its step_end.
  static std::uint64_t partner_key(EventType type, const Event& e) {
    const bool step = type == EventType::step || type == EventType::step_end;
    const std::uint64_t what = step ? static_cast<std::uint64_t>(e.a) : span_key(e);
    return what * 16 + static_cast<std::uint64_t>(type);
  }

  void index(std::span<const Event> group) {
    indexed_ = group.size() > kScanMax;  // a scan is faster for the few that usually coincide
    if (!indexed_) return;
    first_of_.clear();
    for (std::size_t i = 0; i < group.size(); ++i) {
      first_of_.try_emplace(partner_key(group[i].type, group[i]), i);
    }
  }

  // Where the group, which is in content order, first has an event of this type like `like`.
  [[nodiscard]] std::optional<std::size_t> find(std::span<const Event> group, EventType type,
                                                const Event& like) const {
    const std::uint64_t key = partner_key(type, like);
    if (indexed_) {
      const auto found = first_of_.find(key);
      return found == first_of_.end() ? std::nullopt : std::optional(found->second);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (group[i].type == type && partner_key(type, group[i]) == key) return i;
    }
    return std::nullopt;
  }

  // Depth of the innermost open span of this kind, or -1.
  std::int64_t depth_of(const Event& e) {
    const auto& stack = spans_[e.lane];
    for (std::size_t i = stack.size(); i > 0; --i) {
      if (stack[i - 1] == e.name) return static_cast<std::int64_t>(i - 1);
    }
    return -1;
  }

  bool step_is_open(std::int64_t step) const {
    return std::any_of(steps_.begin(), steps_.end(),
                       [step](const OpenStep& s) { return s.step == step; });
  }

  void place_span(Placed& p, std::span<const Event> group) {
    const std::int64_t depth = depth_of(p.event);
    const bool is_end = p.event.type == EventType::end;
    const auto begin = find(group, EventType::begin, p.event);
    if (depth < 0 && begin && find(group, EventType::end, p.event)) {
      p.place = c_span_whole;
      p.minor = static_cast<std::int64_t>(*begin);
      p.pair = is_end ? 1 : 0;
    } else if (is_end) {
      p.place = c_end;
      p.minor = -depth;
    } else {
      p.place = c_span_open;
      p.minor = -end_of(p.event);
    }
  }

  void place_step(Placed& p, std::span<const Event> group) {
    const bool is_end = p.event.type == EventType::step_end;
    const bool pairs = !step_is_open(p.event.a) &&
                       find(group, is_end ? EventType::step : EventType::step_end, p.event);
    p.minor = p.event.a;
    p.place = pairs ? c_step_whole : is_end ? c_step_end : c_step_open;
    p.pair = pairs && is_end ? 1 : 0;
  }

  void place(Placed& p, std::span<const Event> group) {
    switch (p.event.type) {
      case EventType::mark:
        p.place = class_of_mark(p.event.name);
        p.minor = p.event.name;
        return;
      case EventType::begin:
      case EventType::end:
        return place_span(p, group);
      case EventType::step:
      case EventType::step_end:
        return place_step(p, group);
      case EventType::checkpoint:
        p.place = c_checkpoint;
        p.minor = p.event.a;
        return;
      case EventType::restore:
        p.place = c_restore;
        return;
      case EventType::hang:
        p.place = c_hang;
        return;
      case EventType::device_done:
        p.place = c_device;
        p.minor = p.event.a;
        return;
      default:
        p.place = c_attr;
        return;
    }
  }

  void arrange(std::span<Event> group) {
    placed_.clear();
    index(group);
    for (const Event& e : group) {
      Placed p{.event = e};
      place(p, group);
      placed_.push_back(p);
    }
    // Stable: what is left equal stays in content order.
    std::stable_sort(placed_.begin(), placed_.end(), [](const Placed& x, const Placed& y) {
      if (x.place != y.place) return x.place < y.place;
      if (x.minor != y.minor) return x.minor < y.minor;
      return x.pair < y.pair;
    });
    HW_CHECK(placed_.size() == group.size());
    for (std::size_t i = 0; i < group.size(); ++i) group[i] = placed_[i].event;
  }

  // Keeps what is open up to date, and lets a step_end know the data of its step: true if it did
  // not before.
  bool follow(Event& e) {
    if (e.type == EventType::begin) {
      auto& stack = spans_[e.lane];
      if (stack.size() == kOpenMax) stack.erase(stack.begin());
      stack.push_back(e.name);
    } else if (e.type == EventType::end) {
      if (const std::int64_t depth = depth_of(e); depth >= 0) {
        spans_[e.lane].erase(spans_[e.lane].begin() + depth);
      }
    } else if (e.type == EventType::step) {
      if (steps_.size() == kOpenMax) steps_.erase(steps_.begin());
      steps_.push_back({e.a, e.b});
    } else if (e.type == EventType::step_end) {
      const auto found = std::find_if(steps_.rbegin(), steps_.rend(),
                                      [&e](const OpenStep& s) { return s.step == e.a; });
      if (found == steps_.rend()) return false;
      const bool learns = e.b == HW_NO_DATA && found->data != HW_NO_DATA;
      if (learns) e.b = found->data;
      steps_.erase(std::next(found).base());
      return learns;
    }
    return false;
  }

  struct BeginKey {
    std::int64_t t_ns;
    std::uint32_t key;
    bool operator==(const BeginKey&) const = default;
  };
  struct BeginHash {
    std::size_t operator()(const BeginKey& k) const {
      return static_cast<std::size_t>(
          (static_cast<std::uint64_t>(k.t_ns) ^ (std::uint64_t{k.key} << 32)) *
          0x9E3779B97F4A7C15ull);
    }
  };

  std::vector<Event>& events_;
  std::unordered_map<std::uint16_t, std::vector<event::PhaseId>>
      spans_;  // by lane, outermost first
  std::vector<OpenStep> steps_;
  std::unordered_map<BeginKey, std::int64_t, BeginHash> ends_;
  std::vector<Placed> placed_;
  std::unordered_map<std::uint64_t, std::size_t> first_of_;
  bool indexed_ = false;
};

bool same(const Event& x, const Event& y) {
  return x.t_ns == y.t_ns && x.a == y.a && x.b == y.b && x.name == y.name && x.lane == y.lane &&
         x.type == y.type;
}

}  // namespace

std::uint64_t put_in_order(std::vector<Event>& events, const NameTable& names) {
  const auto before = [&names](const Event& x, const Event& y) {
    return compare_content(x, y, names) < 0;
  };
  std::uint64_t dropped = 0;
  // Each time round an end of a step has learnt its data. Twice is enough for what anybody writes;
  // in garbage every instant may wait for the one before it.
  bool again = true;
  for (int round = 0; again && round < kRoundsMax; ++round) {
    if (!std::is_sorted(events.begin(), events.end(), before)) {
      std::sort(events.begin(), events.end(), before);
    }
    const auto kept = std::unique(events.begin(), events.end(), same);
    dropped += static_cast<std::uint64_t>(events.end() - kept);
    events.erase(kept, events.end());
    again = Arranger(events).run();
  }
  return dropped;
}

}  // namespace headway::interchange
