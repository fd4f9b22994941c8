// A made-up fleet for load tests: jobs of many ranks, machine by machine, whose journals are the
// same whenever they are made from the same shape. So what was sent to a collector can be written
// down afterwards as files, and a report on those be compared with what the collector says.
//
// Every rank starts up, then takes four records a step (the wait for a batch, the step itself) and
// every fiftieth step saves. One journal a job is its launcher's. Pure; one owner, one thread.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "event/record.h"
#include "ingest/batch.h"

namespace headway::bench {

struct Shape {
  std::uint32_t jobs = 1;
  std::uint32_t ranks = 8;          // of a job
  std::uint32_t machine_ranks = 8;  // of a machine
  std::int64_t steps = 100;         // of a rank
  std::int64_t step_ns = 1'000'000'000;
  std::int64_t begin_ns = 0;  // of all jobs, by the real clock
  std::uint64_t seed = 1;
  std::string prefix = "load";

  [[nodiscard]] std::uint32_t machines_of_job() const {
    return (ranks + machine_ranks - 1) / machine_ranks;
  }
  [[nodiscard]] std::uint32_t machines() const { return jobs * machines_of_job(); }
  [[nodiscard]] std::string job_name(std::uint32_t job) const;
};

inline constexpr std::uint64_t kAttempt = 1;

// One journal: a rank's, or a launcher's.
class JournalMaker {
 public:
  static constexpr std::uint32_t launcher = UINT32_MAX;

  JournalMaker(const Shape& shape, std::uint32_t job, std::uint32_t rank);

  // Adds the records of the steps before `step`; those after the last one, too, when all are done.
  void make_until(std::int64_t step, std::vector<event::Record>& out);

  [[nodiscard]] const event::HeaderFields& header() const { return header_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] bool done() const { return done_; }

 private:
  void put(std::vector<event::Record>& out, event::EventType type, std::uint16_t name,
           std::int64_t a, std::int64_t b) const;
  void begin(std::vector<event::Record>& out);
  void one_step(std::vector<event::Record>& out);
  void end(std::vector<event::Record>& out);
  std::uint64_t about(std::int64_t ns);  // that long, give or take a tenth

  const Shape& shape_;
  std::uint32_t rank_;
  event::HeaderFields header_{};
  std::string name_;
  std::mt19937_64 random_;
  std::uint64_t t_ns_;
  std::int64_t step_ = -1;  // the last that is made; -1: not even the start-up is
  bool done_ = false;
};

// A machine's journals, sent as one batch each time, as an agent does.
class Machine {
 public:
  Machine(const Shape& shape, std::uint32_t index);

  // What happened before `step`, at most so many slots of a journal; empty when there is nothing
  // left to say. The last batches say that the journals are over.
  std::vector<std::byte> next_batch(std::int64_t step, std::uint32_t slots_max);
  // Whether all was told.
  [[nodiscard]] bool done() const { return told_; }
  // In the last batch.
  [[nodiscard]] std::uint64_t slots() const { return slots_; }
  [[nodiscard]] const std::string& job() const { return job_; }

 private:
  struct Journal {
    JournalMaker maker;
    ingest::JournalId id;
    std::vector<event::Record> records;  // made, not sent
    std::uint64_t sent = 0;
    bool told_end = false;
  };
  std::string job_;
  std::vector<Journal> journals_;
  bool told_ = false;
  std::uint64_t slots_ = 0;
};

// The journals of all jobs as files: DIR/JOB/ATTEMPT/NAME.
void write_journals(const Shape& shape, const std::string& dir);
// The same records as rows for PostgreSQL's binary COPY, spread over so many files:
// job, attempt, rank, slot, t_ns, type, name, lane, a, b. How many rows.
std::uint64_t write_rows(const Shape& shape, const std::vector<std::string>& paths);

}  // namespace headway::bench
