// For tests: a job with its journals on disk, what a report on them says, and their slots as
// batches in any order.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/temp_dir.h"
#include "failure/redact_report.h"
#include "ingest/batch.h"
#include "interchange/job_input.h"
#include "metrics/job_state.h"
#include "metrics/report.h"
#include "record/test_util.h"
#include "timeline/job.h"

namespace headway::collector {

class TestJob {
 public:
  explicit TestJob(std::string name) : name_(std::move(name)) {}

  // So many ranks and steps, begun where the one before ended; `crashes`: its last rank is killed.
  void attempt(std::uint64_t id, std::uint32_t ranks, int steps, bool crashes) {
    const std::uint64_t begin = 1'000'000'000 + id * 1'000'000'000'000;  // ns, which are ticks here
    record::JournalBytes agent = journal(id, HW_RANK_UNKNOWN, ranks);
    agent.add(event::EventType::mark, begin, 0, 0, HW_MARK_LAUNCHER_START);
    std::uint64_t end = begin;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      record::JournalBytes j = journal(id, rank, ranks);
      std::uint64_t t = begin + 50'000'000 * (rank + 1);
      j.add(event::EventType::begin, t, 0, 0, HW_PHASE_IMPORTS);
      j.add(event::EventType::end, t += 700'000'000, 0, 0, HW_PHASE_IMPORTS);
      for (int n = 1; n <= steps; ++n) {
        const std::int64_t step = first_step_ + n;
        if (n % 7 == 0) {
          j.add(event::EventType::begin, t, 0, 0, HW_PHASE_DATA_WAIT);
          j.add(event::EventType::end, t += 20'000'000, 0, 0, HW_PHASE_DATA_WAIT);
        }
        j.add(event::EventType::step, t += 1'000'000, step, step * 64);
        j.add(event::EventType::step_end, t += 90'000'000 + 1'000'000 * rank, step, step * 64);
        if (n % 10 == 0) {
          j.add(event::EventType::checkpoint, t, step, step * 64, 2);
        }
      }
      end = std::max(end, t);
      write(j, fmt::format("rank-{:05}", rank));
    }
    event::EndInfo info;
    info.rank = ranks - 1;
    info.signal = crashes ? 9 : 0;
    info.origin = crashes ? HW_ORIGIN_INFRA : HW_ORIGIN_NONE;
    const auto a = event::pack_end_a(info), b = event::pack_end_b(info);
    if (crashes) agent.add(event::EventType::mark, end + 1'000'000, a, b, HW_MARK_FAILURE);
    agent.add(event::EventType::mark, end + 500'000'000, a, b, HW_MARK_EXIT);
    if (!crashes) agent.add(event::EventType::mark, end + 600'000'000, 0, 0, HW_MARK_JOB_END);
    write(agent, "agent-host");
    first_step_ += steps / 2;  // the next one repeats the rest
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string dir() const { return dir_.path() + "/" + name_; }

  // As `headway report --json` tells it, of the files.
  [[nodiscard]] std::string report() const {
    interchange::LoadOptions options;
    auto streams = interchange::load_job(dir(), options);
    EXPECT_TRUE(streams.ok()) << streams.status().message();
    const timeline::JobResult job = timeline::attribute_job(*streams, {});
    metrics::Report report = metrics::make_report(job, *streams);
    report.state = metrics::job_state_name(metrics::job_state(job, false));
    failure::redact(report);
    return metrics::to_json(report);
  }

  // Each journal's slots in their order, journals in any.
  void post_in_any_order(std::mt19937& random,
                         const std::function<void(const std::string& path,
                                                  const std::vector<std::byte>&)>& post) const {
    std::map<std::size_t, std::uint64_t> at;  // by journal
    for (std::size_t i = 0; i < journals_.size(); ++i) at[i] = 0;
    while (!at.empty()) {
      auto each = at.begin();
      std::advance(each, random() % at.size());
      const record::JournalBytes& journal = journals_[each->first].second;
      const std::uint64_t left = journal.records.size() - each->second;
      const std::uint64_t count = std::min<std::uint64_t>(left, random() % 40);
      ingest::BatchWriter writer;
      if (each->second == 0) writer.add_head(journal.fixed, journals_[each->first].first);
      ingest::ChunkRecord chunk{};
      chunk.journal = ingest::journal_id(journal.fixed);
      chunk.first_slot = each->second;
      chunk.slots = static_cast<std::uint32_t>(count);
      chunk.cursor = journal.live.cursor;
      chunk.limit = journal.live.limit;
      if (left == 0) chunk.flags = ingest::kChunkFinal;
      writer.add_chunk(chunk, std::span(journal.records).subspan(each->second, count));
      post(fmt::format("/api/v1/ingest/{}/{}", name_, journal.fixed.attempt), writer.finish(0));
      each->second += count;
      if (left == 0) at.erase(each);
    }
  }

 private:
  record::JournalBytes journal(std::uint64_t attempt, std::uint32_t rank, std::uint32_t world) {
    record::JournalBytes j;
    j.fixed.attempt = attempt;
    j.fixed.rank = rank;
    j.fixed.world_size = world;
    j.fixed.anchor_ticks = 1'000'000;
    std::memset(j.fixed.job, 0, sizeof(j.fixed.job));
    name_.copy(j.fixed.job, sizeof(j.fixed.job) - 1);
    if (rank != HW_RANK_UNKNOWN) {  // a machine for each
      std::memset(j.fixed.host, 0, sizeof(j.fixed.host));
      fmt::format("machine-{}", rank).copy(j.fixed.host, sizeof(j.fixed.host) - 1);
    }
    record::finish_header(j.fixed);
    return j;
  }
  void write(const record::JournalBytes& journal, const std::string& stem) {
    dir_.write(fmt::format("{}/{}/{}.hwj", name_, journal.fixed.attempt, stem), journal.bytes());
    journals_.emplace_back(stem + ".hwj", journal);
  }

  std::string name_;
  base::TempDir dir_;
  std::int64_t first_step_ = 0;
  std::vector<std::pair<std::string, record::JournalBytes>> journals_;
};

}  // namespace headway::collector
