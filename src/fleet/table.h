// The facts of a fleet's attempts in memory, in columns: what every answer about a fleet is
// reckoned from.
//
// One writer, many readers, no lock. The table belongs to one thread (or to whoever holds the
// owner's lock); it gives out snapshots, which never change and may be read by any thread for as
// long as they are held. A snapshot costs a list of pointers: rows lie in chunks (chunk.h), and the
// first change to a chunk after a snapshot copies that chunk, some hundred kilobytes. Names are
// numbers (dictionary.h).
//
// An attempt is known by job and number. Its facts change all the time while it runs: where the new
// ones need the space of the old, they are written over them, else the job's rows move to the end
// and leave a gap; a chunk that is more than half gaps is emptied.
//
// Costs about 400 bytes an attempt (see bytes(); bench/fleet prints it).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "fleet/chunk.h"
#include "fleet/dictionary.h"
#include "fleet/fact.h"

namespace headway::fleet {

// What was too much or made no sense, since the table began. Nothing of it stops an answer.
struct TableTroubles {
  std::uint64_t attempts_refused = 0;  // over attempts_max, attempts_per_job_max or jobs_max
  std::uint64_t values_dropped = 0;    // of a dimension that has values_max: told as kOther
  std::uint64_t levers_dropped = 0;
  std::uint64_t hosts_dropped = 0;
  std::uint64_t slices_dropped = 0;
  std::uint64_t numbers_clamped = 0;  // below 0, or beyond what can be
  bool operator==(const TableTroubles&) const = default;
};

class Snapshot {
 public:
  [[nodiscard]] const std::vector<std::shared_ptr<const Chunk>>& chunks() const { return chunks_; }
  [[nodiscard]] const DictionaryView& values(Dimension dimension) const {
    return dimensions_[static_cast<std::size_t>(dimension)];
  }
  [[nodiscard]] const DictionaryView& jobs() const { return jobs_; }  // more than have attempts
  [[nodiscard]] const DictionaryView& levers() const { return levers_; }
  [[nodiscard]] const DictionaryView& hosts() const { return hosts_; }
  [[nodiscard]] const DictionaryView& categories() const { return categories_; }
  [[nodiscard]] std::uint64_t attempts() const { return attempts_; }
  [[nodiscard]] std::uint64_t version() const {
    return version_;
  }  // of the table, when it was made

 private:
  friend class FleetTable;
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::array<DictionaryView, kDimensions> dimensions_;
  DictionaryView jobs_, levers_, hosts_, categories_;
  std::uint64_t attempts_ = 0, version_ = 0;
};

class FleetTable {
 public:
  static constexpr std::uint64_t attempts_max = 8'000'000;
  static constexpr std::uint32_t attempts_per_job_max = 65'536;
  static constexpr std::uint32_t jobs_max = 8'000'000;
  static constexpr std::uint32_t values_max = 65'535;  // of a dimension
  static constexpr std::uint32_t hosts_max = 1u << 20;
  static constexpr std::uint32_t categories_max = 4096;
  static constexpr std::uint32_t devices_max = 1u << 24;
  static constexpr std::int64_t bucket_ns_max = 5 * 365 * kDayNs;  // of a slice or a start
  static constexpr std::string_view kOther = "(other)";            // values beyond values_max

  FleetTable();

  // Takes an attempt in, in place of what was known of it. False: refused, and counted.
  bool upsert(std::string_view job, const AttemptFacts& facts);
  // All of a job: what is not among `attempts` is forgotten.
  bool replace_job(std::string_view job, std::span<const AttemptFacts> attempts);
  // False: there was none.
  bool erase_job(std::string_view job);

  // The same object until something changes.
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot();

  [[nodiscard]] std::uint64_t attempts() const { return attempts_; }
  [[nodiscard]] std::uint64_t version() const { return version_; }  // grows with every change
  [[nodiscard]] const TableTroubles& troubles() const { return troubles_; }
  [[nodiscard]] std::size_t bytes() const;  // of the columns, without names
  [[nodiscard]] std::size_t chunks() const { return chunks_.size(); }

 private:
  struct Place {
    std::uint32_t chunk = Chunk::kNone, job = 0;  // kNone: it has no attempts
  };
  struct Held {
    std::shared_ptr<Chunk> chunk;
    bool shared = false;  // a snapshot may hold it: copy before writing
  };

  void encode(const AttemptFacts& facts, EncodedAttempt& out);
  void encode_names(const AttemptFacts& facts, EncodedAttempt& out);
  void encode_start(const Start& start, EncodedAttempt::Begun& out);
  void encode_failure(const FailureFact& failure, EncodedAttempt::Failed& out);
  std::int64_t clamped(std::int64_t value, std::int64_t low, std::int64_t high);
  void clamp_buckets(timeline::Sums& sums);

  bool upsert_encoded(Place& place, std::uint32_t id, const EncodedAttempt& row);
  Chunk& writable(std::uint32_t chunk);
  std::uint32_t tail_for(std::uint32_t attempts);
  void move_job(Place& place, const EncodedAttempt* with);
  void drop_rows(Place& place);
  void empty_if_sparse(std::uint32_t chunk);

  std::array<Dictionary, kDimensions> dimensions_;
  Dictionary jobs_, levers_, hosts_, categories_;
  std::vector<Place> places_;  // by job id
  std::vector<Held> chunks_;
  std::vector<std::uint32_t> free_;  // chunks that are empty and not the tail
  std::uint32_t tail_ = Chunk::kNone;
  std::uint64_t attempts_ = 0, version_ = 0;
  TableTroubles troubles_;
  EncodedAttempt row_, moved_;  // kept for their space
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace headway::fleet
