#include "fleet.h"

#include <endian.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "event/event.h"
#include "headway/headway.h"
#include "record/journal_header.h"

namespace headway::bench {

using event::EventType;
using event::Record;

namespace {

constexpr std::int64_t save_every = 50;  // steps
constexpr std::int64_t batch_samples = 64;

struct Close {
  void operator()(FILE* file) const { HW_CHECK(std::fclose(file) == 0); }
};
using File = std::unique_ptr<FILE, Close>;

File create(const std::string& path) {
  File file(std::fopen(path.c_str(), "wb"));
  HW_CHECK(file != nullptr);
  return file;
}

void write(FILE* file, const void* data, std::size_t bytes) {
  HW_CHECK(bytes == 0 || std::fwrite(data, bytes, 1, file) == 1);
}

}  // namespace

std::string Shape::job_name(std::uint32_t job) const {
  return fmt::format("{}-{:04}", prefix, job);
}

JournalMaker::JournalMaker(const Shape& shape, std::uint32_t job, std::uint32_t rank)
    : shape_(shape),
      rank_(rank),
      random_(shape.seed * 0x9E3779B97F4A7C15 + job * 1'000'003ull + rank),
      t_ns_(static_cast<std::uint64_t>(shape.begin_ns)) {
  const bool is_launcher = rank == launcher;
  const std::uint32_t machine = is_launcher ? 0 : rank / shape.machine_ranks;
  header_.clock_kind = static_cast<std::uint32_t>(event::ClockKind::monotonic_ns);
  header_.attempt = kAttempt;
  header_.rank = is_launcher ? HW_RANK_UNKNOWN : rank;
  header_.local_rank = is_launcher ? 0 : rank % shape.machine_ranks;
  header_.world_size = shape.ranks;
  header_.pid = 0x7ffffff0;  // nobody's
  header_.clock_hz = 1'000'000'000;
  header_.slots_max = 1u << 24;
  shape.job_name(job).copy(header_.job, sizeof(header_.job) - 1);
  fmt::format("{}-machine{:03}", shape.job_name(job), machine)
      .copy(header_.host, sizeof(header_.host) - 1);
  record::finish_header(header_);
  name_ = is_launcher ? "agent-machine000.hwj" : fmt::format("rank-{:05}.hwj", rank);
}

std::uint64_t JournalMaker::about(std::int64_t ns) {
  const auto whole = static_cast<std::uint64_t>(ns);
  return whole - whole / 10 + random_() % (whole / 5 + 1);
}

void JournalMaker::put(std::vector<Record>& out, EventType type, std::uint16_t name, std::int64_t a,
                       std::int64_t b) const {
  Record r{t_ns_, a, b, name, 0, 0};
  r.commit = event::commit_word(event::record_check(r.t, a, b, name, 0, type), type);
  out.push_back(r);
}

void JournalMaker::begin(std::vector<Record>& out) {
  if (rank_ == launcher) {
    put(out, EventType::mark, HW_MARK_LAUNCHER_START, 0, 0);
    return;
  }
  for (const std::uint16_t phase :
       {HW_PHASE_IMPORTS, HW_PHASE_PROCESS_GROUP_INIT, HW_PHASE_TRAIN_MODULE_CREATION,
        HW_PHASE_GET_FIRST_BATCH_DATA}) {
    put(out, EventType::begin, phase, 0, 0);
    t_ns_ += about(shape_.step_ns / 8);
    put(out, EventType::end, phase, 0, 0);
  }
}

// A step takes its share of the time from the begin on, whatever those before it took: ranks stay
// together, as those that train together do.
void JournalMaker::one_step(std::vector<Record>& out) {
  if (rank_ == launcher) return;
  const std::int64_t n = step_;
  const std::int64_t began_ns = shape_.begin_ns + n * shape_.step_ns;
  t_ns_ = std::max(t_ns_, static_cast<std::uint64_t>(began_ns));
  put(out, EventType::begin, HW_PHASE_DATA_WAIT, 0, 0);
  t_ns_ += about(shape_.step_ns / 50);
  put(out, EventType::end, HW_PHASE_DATA_WAIT, 0, 0);
  put(out, EventType::step, 0, n, n * batch_samples);
  t_ns_ += about(shape_.step_ns * 7 / 10);
  put(out, EventType::step_end, 0, n, n * batch_samples);
  if (n % save_every != 0) return;
  put(out, EventType::begin, HW_PHASE_CHECKPOINT_BLOCKED, 0, 0);
  t_ns_ += about(shape_.step_ns / 20);
  put(out, EventType::end, HW_PHASE_CHECKPOINT_BLOCKED, 0, 0);
  put(out, EventType::checkpoint, HW_CHECKPOINT_DURABLE, n, n * batch_samples);
}

void JournalMaker::end(std::vector<Record>& out) {
  if (rank_ != launcher) return;
  const event::EndInfo info;
  t_ns_ = static_cast<std::uint64_t>(shape_.begin_ns + (shape_.steps + 2) * shape_.step_ns);
  put(out, EventType::mark, HW_MARK_EXIT, event::pack_end_a(info), event::pack_end_b(info));
  put(out, EventType::mark, HW_MARK_JOB_END, 0, 0);
}

void JournalMaker::make_until(std::int64_t step, std::vector<Record>& out) {
  if (done_) return;
  if (step_ < 0) {
    begin(out);
    step_ = 0;
  }
  while (step_ < std::min(step, shape_.steps)) {
    ++step_;
    one_step(out);
  }
  if (step_ < shape_.steps) return;
  end(out);
  done_ = true;
}

Machine::Machine(const Shape& shape, std::uint32_t index) {
  const std::uint32_t job = index / shape.machines_of_job();
  const std::uint32_t machine = index % shape.machines_of_job();
  job_ = shape.job_name(job);
  const std::uint32_t first = machine * shape.machine_ranks;
  const std::uint32_t end = std::min(first + shape.machine_ranks, shape.ranks);
  const auto add = [&](std::uint32_t rank) {
    JournalMaker maker(shape, job, rank);
    const ingest::JournalId id = ingest::journal_id(maker.header());
    journals_.push_back({std::move(maker), id, {}});
  };
  if (machine == 0) add(JournalMaker::launcher);
  for (std::uint32_t rank = first; rank < end; ++rank) add(rank);
}

std::vector<std::byte> Machine::next_batch(std::int64_t step, std::uint32_t slots_max) {
  ingest::BatchWriter writer;
  slots_ = 0;
  for (Journal& journal : journals_) {
    // What is left over of one call goes with the next.
    if (journal.records.size() < slots_max) journal.maker.make_until(step, journal.records);
    const auto count = std::min<std::size_t>(journal.records.size(), slots_max);
    const bool over = journal.maker.done() && count == journal.records.size();
    if (count == 0 && !(over && !journal.told_end)) continue;
    if (journal.sent == 0) writer.add_head(journal.maker.header(), journal.maker.name());
    ingest::ChunkRecord chunk{};
    chunk.journal = journal.id;
    chunk.first_slot = journal.sent;
    chunk.slots = static_cast<std::uint32_t>(count);
    chunk.cursor = chunk.limit = journal.sent + count;
    if (over) chunk.flags = ingest::kChunkFinal | ingest::kChunkClosed;
    writer.add_chunk(chunk, std::span(journal.records).first(count));
    journal.records.erase(journal.records.begin(),
                          journal.records.begin() + static_cast<std::ptrdiff_t>(count));
    journal.sent += count;
    journal.told_end = over;
  }
  told_ = std::ranges::all_of(journals_, &Journal::told_end);
  if (writer.empty()) return {};
  slots_ = writer.slots();
  return writer.finish(0);
}

void write_journals(const Shape& shape, const std::string& dir) {
  std::vector<Record> records;
  for (std::uint32_t job = 0; job < shape.jobs; ++job) {
    const std::string folder = fmt::format("{}/{}/{}", dir, shape.job_name(job), kAttempt);
    std::filesystem::create_directories(folder);
    for (std::uint32_t i = 0; i <= shape.ranks; ++i) {
      JournalMaker maker(shape, job, i == shape.ranks ? JournalMaker::launcher : i);
      records.clear();
      maker.make_until(shape.steps, records);
      event::LiveFields live{};
      live.cursor = live.limit = records.size();
      live.closed = 1;
      std::vector<char> head(event::kHeaderBytes, 0);
      std::memcpy(head.data(), &maker.header(), sizeof(event::HeaderFields));
      std::memcpy(head.data() + event::kLiveOffset, &live, sizeof(live));
      const File file = create(folder + "/" + maker.name());
      write(file.get(), head.data(), head.size());
      write(file.get(), records.data(), records.size() * sizeof(Record));
    }
  }
}

namespace {

// A row's fields, each with its length before it, big-endian.
class Row {
 public:
  Row() { add_plain(htobe16(fields)); }
  template <typename T>
  void add(T value) {
    add_plain(htobe32(sizeof(T)));
    if constexpr (sizeof(T) == 8) {
      add_plain(htobe64(static_cast<std::uint64_t>(value)));
    } else if constexpr (sizeof(T) == 4) {
      add_plain(htobe32(static_cast<std::uint32_t>(value)));
    } else {
      add_plain(htobe16(static_cast<std::uint16_t>(value)));
    }
  }
  void write_to(FILE* file) const { write(file, bytes_, used_); }

 private:
  static constexpr std::uint16_t fields = 10;
  template <typename T>
  void add_plain(T value) {
    HW_CHECK(used_ + sizeof(value) <= sizeof(bytes_));
    std::memcpy(bytes_ + used_, &value, sizeof(value));
    used_ += sizeof(value);
  }
  char bytes_[128];
  std::size_t used_ = 0;
};

constexpr char kCopyHead[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";  // the sign; no flags, no more

}  // namespace

std::uint64_t write_rows(const Shape& shape, const std::vector<std::string>& paths) {
  HW_CHECK(!paths.empty());
  std::vector<File> files;
  for (const std::string& path : paths) {
    files.push_back(create(path));
    static_assert(sizeof(kCopyHead) == 19);
    write(files.back().get(), kCopyHead, sizeof(kCopyHead));
  }
  std::uint64_t rows = 0;
  std::vector<Record> records;
  for (std::uint32_t job = 0; job < shape.jobs; ++job) {
    for (std::uint32_t i = 0; i <= shape.ranks; ++i) {
      JournalMaker maker(shape, job, i == shape.ranks ? JournalMaker::launcher : i);
      records.clear();
      maker.make_until(shape.steps, records);
      FILE* file = files[(job * (shape.ranks + 1) + i) % files.size()].get();
      for (std::size_t slot = 0; slot < records.size(); ++slot) {
        const Record& r = records[slot];
        Row row;
        row.add(static_cast<std::int32_t>(job));
        row.add(static_cast<std::int32_t>(kAttempt));
        row.add(static_cast<std::int32_t>(maker.rank()));
        row.add(static_cast<std::int64_t>(slot));
        row.add(static_cast<std::int64_t>(r.t));
        row.add(static_cast<std::int16_t>(event::type_of(r)));
        row.add(static_cast<std::int16_t>(r.name));
        row.add(static_cast<std::int16_t>(r.lane));
        row.add(r.a);
        row.add(r.b);
        row.write_to(file);
        ++rows;
      }
    }
  }
  const std::uint16_t end = 0xffff;
  for (const File& file : files) write(file.get(), &end, sizeof(end));
  return rows;
}

}  // namespace headway::bench
