#include "demo/told_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "event/event.h"
#include "ingest/batch.h"
#include "ingest/progress.h"

namespace headway::demo {
namespace {

using event::EventType;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSamplesPerStep = 65'536;
constexpr std::uint64_t kLaunches = 65'536;  // of an allocation

class Teller {
 public:
  explicit Teller(const PlannedJob& plan) : plan_(plan), random_(plan.seed) {}

  ToldJob tell() {
    ToldJob out;
    t_ = plan_.submitted_ns;
    for (std::size_t i = 0; i <= plan_.ends.size(); ++i) {
      out.attempts.push_back(attempt(i));
      if (over_) break;
    }
    out.end_ns = t_;
    return out;
  }

 private:
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }
  std::int64_t part(std::int64_t ns, double of) {
    return static_cast<std::int64_t>(static_cast<double>(ns) * of);
  }

  ToldAttempt attempt(std::size_t i) {
    // No two starts are alike, of one job either.
    compile_ns_ = part(plan_.compile_ns, 0.85 + 0.3 * uniform());
    pace_ = 0.85 + 0.3 * uniform();
    const PlannedEnd* before = i == 0 ? nullptr : &plan_.ends[i - 1];
    const bool requeued = before == nullptr || before->origin == HW_ORIGIN_PREEMPTION;
    if (requeued) {
      ++allocation_;
      launch_ = 0;
    }
    ++launch_;
    ToldAttempt out;
    out.id = allocation_ * kLaunches + launch_;
    const std::int64_t begin_ns = t_;
    const auto journal = [&](std::uint32_t rank) {
      const std::string& host = plan_.hosts[rank == HW_RANK_AGENT ? 0 : rank];
      return JournalMaker({plan_.name, out.id, rank, plan_.ranks, host, begin_ns});
    };
    out.journals.push_back(journal(HW_RANK_AGENT));
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) out.journals.push_back(journal(rank));
    JournalMaker& agent = out.journals.front();
    for (const auto& [key, value] : plan_.attributes) agent.attr(t_, key, value);
    if (has("lever.compile_cache")) {
      agent.attr(t_, "compile_cache_pulled",
                 plan_.warm ? "archives=1 files=312 bytes=48210944 ms=2140"
                            : "archives=0 files=0 bytes=0 ms=310");
    }
    open(agent, requeued);
    const std::span<JournalMaker> ranks = std::span(out.journals).subspan(1);
    start(ranks, i);
    train(ranks, i);
    close(agent, i);
    return out;
  }

  void open(JournalMaker& agent, bool requeued) {
    if (requeued) {
      agent.add(EventType::mark, t_, HW_MARK_SUBMITTED);
      agent.add(EventType::mark, t_ += plan_.queued_ns, HW_MARK_RESOURCES_AVAILABLE);
      agent.add(EventType::mark, t_ += plan_.scheduling_ns, HW_MARK_ALLOCATED);
      t_ += plan_.hardware_setup_ns;
    } else {
      t_ += part(9 * kSecond, 0.6 + 0.8 * uniform());
    }
    agent.add(EventType::mark, t_, HW_MARK_LAUNCHER_START);
  }

  // All ranks go through each stage together; the slowest ends it.
  void start(std::span<JournalMaker> ranks, std::size_t i) {
    for (std::size_t stage = 0; stage < plan_.stages_ns.size(); ++stage) {
      const bool last = stage + 1 == plan_.stages_ns.size();
      if (last && i > 0) run_stage(ranks, HW_PHASE_RESTORE, part(plan_.restore_ns, pace_));
      run_stage(ranks, event::kInitStages[stage], part(plan_.stages_ns[stage], pace_));
    }
    if (i == 0) return;
    for (JournalMaker& rank : ranks) {
      rank.add(EventType::restore, t_, rank.name(keeps_replica() ? "replica" : "disk"), restored_,
               restored_ * kSamplesPerStep);
    }
  }
  void run_stage(std::span<JournalMaker> ranks, event::PhaseId phase, std::int64_t ns) {
    for (JournalMaker& rank : ranks) {
      rank.span(t_, t_ + part(ns, 0.9 + 0.1 * uniform()), phase);
    }
    t_ += ns;
  }
  [[nodiscard]] bool has(std::string_view lever) const {
    return std::ranges::any_of(plan_.attributes,
                               [&](const auto& each) { return each.first == lever; });
  }
  [[nodiscard]] bool keeps_replica() const { return has("lever.replica"); }

  // What torch's caches held of the first step's graphs, as every rank tells after it.
  void note_cache(std::span<JournalMaker> ranks) {
    if (!has("lever.compile_cache")) return;
    constexpr int graphs = 24, without_cache = 5;
    const std::int64_t spent_ms = compile_ns_ / 1'000'000;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const int missed = plan_.warm ? (rank == 1 ? 2 : 0) : graphs;
      ranks[rank].attr(
          t_, fmt::format("compile_cache.{}", rank),
          fmt::format("hits={} misses={} bypasses=1 builds={} original_ms={} spent_ms={}",
                      graphs - missed, missed, missed, plan_.warm ? without_cache * spent_ms : 0,
                      plan_.warm ? spent_ms : 0));
    }
  }

  void train(std::span<JournalMaker> ranks, std::size_t i) {
    const bool last = i == plan_.ends.size();
    const std::int64_t from_ns = i == 0 ? 0 : plan_.ends[i - 1].after_ns;
    const std::int64_t until_ns = last ? INT64_MAX : t_ + (plan_.ends[i].after_ns - from_ns);
    std::int64_t durable = restored_;
    std::int64_t step = restored_;
    bool first = true;
    while (step < plan_.steps) {
      const std::int64_t length_ns = part(plan_.step_ns, 0.97 + 0.06 * uniform());
      const std::int64_t compile_ns = first ? compile_ns_ : 0;
      if (t_ + length_ns > until_ns && !first) {
        cut(ranks, step + 1, until_ns);
        break;
      }
      run_step(ranks, ++step, length_ns, compile_ns);
      if (first) note_cache(ranks);
      first = false;
      if (step % plan_.save_every == 0 || step == plan_.steps) {
        save(ranks, step);
        durable = step;
      }
    }
    over_ = step >= plan_.steps;
    if (over_ && plan_.publish_ns > 0) {
      ranks.front().span(t_, t_ + plan_.publish_ns, HW_PHASE_PUBLISH);
      t_ += plan_.publish_ns;
    }
    restored_ = keeps_replica() ? step : durable;
  }

  void run_step(std::span<JournalMaker> ranks, std::int64_t step, std::int64_t length_ns,
                std::int64_t compile_ns) {
    const bool waits = step % 3 == 0;
    const std::int64_t wait_ns = waits ? part(length_ns, std::min(0.5, 3 * plan_.waits_share)) : 0;
    const std::int64_t end_ns = t_ + wait_ns + compile_ns + length_ns;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      JournalMaker& rank = ranks[i];
      // All are done when the slow one is.
      const double early = plan_.slow_rank && *plan_.slow_rank != i ? 0.06 : 0.0;
      std::int64_t t = t_;
      if (wait_ns > 0) rank.span(t, t + wait_ns, HW_PHASE_DATA_WAIT);
      t += wait_ns;
      rank.add(EventType::step, t, 0, step, step * kSamplesPerStep);
      if (compile_ns > 0) rank.span(t + kSecond, t + compile_ns, HW_PHASE_COMPILE, plan_.warm);
      rank.add(EventType::step_end, end_ns - part(length_ns, early + 0.004 * uniform()), 0, step,
               step * kSamplesPerStep);
    }
    t_ = end_ns;
  }

  void cut(std::span<JournalMaker> ranks, std::int64_t step, std::int64_t until_ns) {
    for (JournalMaker& rank : ranks) {
      rank.add(EventType::step, t_, 0, step, step * kSamplesPerStep);
    }
    t_ = std::max(t_, until_ns);
  }

  void save(std::span<JournalMaker> ranks, std::int64_t step) {
    for (JournalMaker& rank : ranks) {
      rank.span(t_, t_ + plan_.save_ns, HW_PHASE_CHECKPOINT_BLOCKED);
      rank.add(EventType::checkpoint, t_ + plan_.save_ns, HW_CHECKPOINT_STAGED, step,
               step * kSamplesPerStep);
      rank.add(EventType::checkpoint, t_ + plan_.save_ns + kSecond, HW_CHECKPOINT_DURABLE, step,
               step * kSamplesPerStep);
    }
    t_ += plan_.save_ns;
  }

  void close(JournalMaker& agent, std::size_t i) {
    event::EndInfo info;
    if (!over_ && i < plan_.ends.size()) {
      const PlannedEnd& end = plan_.ends[i];
      info.origin = end.origin;
      info.rank = end.origin == HW_ORIGIN_PREEMPTION ? HW_RANK_UNKNOWN : end.rank;
      info.exit_code = end.origin == HW_ORIGIN_USER ? 1 : 0;
      info.signal = end.origin == HW_ORIGIN_USER ? 0 : end.origin == HW_ORIGIN_PREEMPTION ? 15 : 9;
      if (!end.reason.empty()) info.reason = agent.name(end.reason);
      agent.add(EventType::mark, t_, HW_MARK_FAILURE, event::pack_end_a(info),
                event::pack_end_b(info));
      if (!end.category.empty()) agent.attr(t_, "failure_category", end.category);
      t_ += part(5 * kSecond, 0.6 + 0.8 * uniform());
    } else {
      t_ += 3 * kSecond;
    }
    agent.add(EventType::mark, t_, HW_MARK_EXIT, event::pack_end_a(info), event::pack_end_b(info));
    if (over_) agent.add(EventType::mark, t_ += kSecond, HW_MARK_JOB_END);
  }

  const PlannedJob& plan_;
  std::mt19937_64 random_;
  std::int64_t t_ = 0;
  std::int64_t compile_ns_ = 0;  // of this attempt
  double pace_ = 1;              // of its other stages
  std::int64_t restored_ = 0;    // step that the next attempt goes on from
  std::uint64_t allocation_ = 0, launch_ = 0;
  bool over_ = false;
};

}  // namespace

ToldJob tell(const PlannedJob& plan) {
  return Teller(plan).tell();
}

namespace {

ingest::ChunkRecord chunk_of(const JournalMaker& journal, std::size_t begin, std::size_t until) {
  ingest::ChunkRecord chunk{};
  chunk.journal = ingest::journal_id(journal.header());
  chunk.first_slot = begin;
  chunk.slots = static_cast<std::uint32_t>(until - begin);
  chunk.cursor = until;
  chunk.limit = journal.header().slots_max;
  return chunk;
}

}  // namespace

std::vector<std::vector<std::byte>> batches_until(const ToldAttempt& attempt,
                                                  std::vector<std::size_t>& sent,
                                                  std::int64_t now_ns) {
  std::vector<std::vector<std::byte>> out;
  sent.resize(attempt.journals.size(), 0);
  // A launcher is there from its first record on, its ranks from theirs.
  if (attempt.journals.front().records_before(now_ns) == 0) return out;
  ingest::BatchWriter writer;
  for (std::size_t i = 0; i < attempt.journals.size(); ++i) {
    const JournalMaker& journal = attempt.journals[i];
    const std::size_t all = journal.records().size(), until = journal.records_before(now_ns);
    const std::size_t begin = std::min(sent[i], all);
    const bool final_now = until == all && sent[i] <= all;
    if (until == begin && !final_now) continue;
    if (writer.full() || writer.slots_left() < until - begin) {
      out.push_back(writer.finish(now_ns));
      writer = {};
    }
    if (sent[i] == 0) writer.add_head(journal.header(), journal.file());
    ingest::ChunkRecord chunk = chunk_of(journal, begin, until);
    if (final_now) chunk.flags = ingest::kChunkFinal | ingest::kChunkClosed;
    writer.add_chunk(chunk, std::span(journal.records()).subspan(begin, until - begin));
    sent[i] = final_now ? all + 1 : until;  // beyond its end: told as final
  }
  if (!writer.empty()) out.push_back(writer.finish(now_ns));
  return out;
}

std::vector<std::byte> sign_of_life(const ToldAttempt& attempt, std::span<const std::size_t> sent,
                                    std::int64_t now_ns) {
  const JournalMaker& launcher = attempt.journals.front();
  if (sent.empty() || sent.front() == 0 || sent.front() > launcher.records().size()) return {};
  ingest::BatchWriter writer;
  writer.add_chunk(chunk_of(launcher, sent.front(), sent.front()), {});
  return writer.finish(now_ns);
}

}  // namespace headway::demo
