// What a collector keeps: batches of slots as they came, how far each journal is, who may ask. One
// interface, an engine behind it (sqlite_store.h, postgres_store.h); whoever uses it need not know
// which.
//
// The batches are the truth and all else can be made again from them. What append() has returned is
// durable. Any thread, several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "ingest/batch.h"
#include "ingest/progress.h"

namespace headway::store {

using JobKey = std::int64_t;  // this store's own

// What a store is opened for.
enum class Purpose : std::uint8_t {
  collect,  // made where there is none, and brought up to the newest schema
  change,   // made where there is none; else left in the schema that a collector may be using
  look,     // must be there; nothing is written
};

enum class Role : std::uint8_t { ingest = 1, read = 2, admin = 3 };
[[nodiscard]] std::string_view role_name(Role role);
[[nodiscard]] std::optional<Role> role_of(std::string_view name);
[[nodiscard]] std::optional<Role> role_of(std::int64_t number);  // as an engine keeps it

// Who may do what, for which tenant. The token itself is nowhere: it is drawn at random from more
// than anybody can try, so its hash needs no salt.
struct Token {
  std::int64_t id = 0;  // given by the store
  std::string tenant;
  Role role = Role::read;
  std::string label;  // for people: whose it is
  base::Sha256 hash{};
  std::int64_t created_ns = 0;
};

struct JobRow {
  JobKey key = 0;
  std::string tenant, name;
  std::int64_t first_ns = 0, heard_ns = 0;  // by the collector's clock: the first and last batch
  std::int64_t newest_seq = 0;              // of its last batch; 0: it has none
};

struct JournalRow {
  ingest::HeadRecord head{};
  ingest::Progress progress;
};

struct BatchRow {
  std::int64_t seq = 0;  // ascending in the order in which they were kept
  std::uint64_t attempt = 0;
  std::vector<std::byte> bytes;
};

// One batch on its way into the store.
struct Append {
  std::string tenant, job;
  std::uint64_t attempt = 0;
  const ingest::Batch* batch = nullptr;
  std::span<const std::byte> bytes;  // the same, as it came
  std::int64_t received_ns = 0;
};

struct Appended {
  ingest::Judgement judgement;
  JobKey job = 0;         // 0: there is none, and the batch did not make it
  bool made_job = false;  // it is the first of its job
  std::int64_t seq = 0;   // of news
  // Of news: the job's newest batch before it; 0: it is the first. Who has all up to that one, and
  // this, has all: others may append to the job as well.
  std::int64_t before_seq = 0;
  // Where the store is now, for every journal of the batch; 0: it does not know it.
  std::vector<std::pair<ingest::JournalId, std::uint64_t>> next;
};

// What is known of an attempt, for the whole fleet's account (docs/formats/fact.md); opaque here.
struct FactPut {
  JobKey job = 0;
  std::int64_t attempt = 0;
  std::int64_t upto_seq = 0;  // the newest batch of the job that it is made from
  std::vector<std::byte> bytes;
};
struct FactRow {
  std::int64_t change = 0;
  std::string tenant, job;
  std::int64_t attempt = 0;
  std::vector<std::byte> bytes;
};

// Something that people should know of, once: a tenant's alert is known by its key.
struct AlertRow {
  std::int64_t id = 0;  // given by the store, and kept
  std::string tenant, key;
  std::string document;  // JSON; opaque here
  std::int64_t changed_ns = 0;
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Whether others may append to the same jobs meanwhile.
  [[nodiscard]] virtual bool is_shared() const = 0;

  // All of them in one transaction, each judged after those before it. An error: none was kept, and
  // nobody may be told otherwise.
  virtual base::Result<std::vector<Appended>> append(std::span<const Append> appends) = 0;

  // Those that were heard of last, first. An empty tenant: of all.
  virtual base::Result<std::vector<JobRow>> jobs(const std::string& tenant,
                                                 std::size_t rows_max) = 0;
  virtual base::Result<std::optional<JobRow>> find_job(const std::string& tenant,
                                                       const std::string& name) = 0;
  virtual base::Result<std::vector<JournalRow>> journals(JobKey job) = 0;
  // In their order, until `take` returns false. Without an attempt: of all.
  virtual base::Status batches(JobKey job, std::optional<std::uint64_t> attempt,
                               std::int64_t after_seq,
                               const std::function<bool(const BatchRow&)>& take) = 0;
  // Of the job's last batch; 0: it has none. The journals of all batches up to it are known.
  virtual base::Result<std::int64_t> newest_seq(JobKey job) = 0;

  // All of them or none. One that is made from less than what is there is passed over: several
  // collectors may tell of one job.
  virtual base::Status put_facts(std::span<const FactPut> facts) = 0;
  // Those that were put after `after_change`, each attempt once, in the order of their changes,
  // until `take` returns false. Whoever has seen a change has seen, or will not miss, all before
  // it.
  virtual base::Status facts(std::int64_t after_change,
                             const std::function<bool(const FactRow&)>& take) = 0;

  // Writes it if what is kept under its key is `before` still ("": nothing is), so that several
  // writers lose nothing of each other's. The row as it is kept; none: read again.
  virtual base::Result<std::optional<AlertRow>> put_alert(AlertRow alert,
                                                          const std::string& before) = 0;
  // Newest first. An empty tenant: of all.
  virtual base::Result<std::vector<AlertRow>> alerts(const std::string& tenant,
                                                     std::size_t rows_max) = 0;

  // Forgets the batches of jobs that were last heard of before then, and how far their journals
  // are: what is sent again is taken from its beginning. What they added up to (facts) stays, and
  // no seq is used again. How many jobs.
  virtual base::Result<std::uint64_t> forget_batches(std::int64_t heard_before_ns) = 0;
  // Forgets also what they added up to; the job's name stays. How many facts.
  virtual base::Result<std::uint64_t> forget_facts(std::int64_t heard_before_ns) = 0;
  // Where several share a store, only one forgets at a time: for who comes meanwhile there is
  // nothing to do.
  //
  // Of those that were last heard of before then, the ones without facts: for who remembers facts
  // that somebody else has forgotten.
  virtual base::Status jobs_without_facts(
      std::int64_t heard_before_ns,
      const std::function<void(const std::string& tenant, const std::string& job)>& take) = 0;

  virtual base::Result<std::vector<Token>> tokens() = 0;
  // Whether there is a token, or was one: removing the last must not open what was closed.
  virtual base::Result<bool> has_had_tokens() = 0;
  virtual base::Result<Token> add_token(Token token) = 0;
  // False: there is none of that id.
  virtual base::Result<bool> remove_token(std::int64_t id) = 0;

  // Reads all of it: what is wrong, a line each; nothing is good.
  virtual base::Result<std::vector<std::string>> check() = 0;
  // A copy of the whole as of one moment, while others write.
  virtual base::Status back_up(const std::string& path) = 0;
};

}  // namespace headway::store
