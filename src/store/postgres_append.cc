#include "store/postgres_append.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/check.h"
#include "store/batch_journals.h"
#include "store/blob.h"

namespace headway::store {

using base::Result;
using base::Status;
using ingest::JournalId;
using ingest::Progress;
using ingest::Verdict;
using Kind = PostgresConnection::Kind;

namespace {

constexpr std::size_t keys_max = 200'000;  // remembered

Status damaged_journal(const PostgresConnection& db) {
  return Status::corrupt(db.address().name() +
                         ": a row of the table journal is damaged; run `headway serve --check`, or "
                         "go back to a back-up");
}

Status numbers_went_back(const PostgresConnection& db) {
  return Status::corrupt(db.address().name() +
                         ": the sequence batch_seq is behind the batches; set it to their largest "
                         "seq with setval()");
}

}  // namespace

// A job of this round, and what becomes of it.
struct PostgresAppender::Job {
  JobKey key = 0;             // 0: there is no row
  std::int64_t last_seq = 0;  // 0: the row means nothing yet
  std::int64_t newest_seq = 0;
  std::vector<std::size_t> appends;
  ingest::ProgressMap journals;  // that somebody here speaks of
  std::map<JournalId, ingest::HeadRecord> fresh;
  std::set<JournalId> moved;
  std::optional<std::int64_t> first_ns, heard_ns;  // first: of batches that are kept
  std::int64_t drawn_seq = 0;
};

struct PostgresAppender::Round {
  Round(std::span<const Append> given, std::vector<Appended>& results)
      : appends(given), out(results) {
    for (std::size_t i = 0; i < appends.size(); ++i) {
      HW_CHECK(appends[i].batch != nullptr);
      const Append& append = appends[i];
      if (is_text(append.tenant) && is_text(append.job)) {
        jobs[{append.tenant, append.job}].appends.push_back(i);
      } else {
        out[i].judgement = {Verdict::nonsense, "the job's name is no text"};
      }
    }
  }
  Status lock(PostgresConnection& db);
  Status read_journals(PostgresConnection& db);
  void judge();
  void judge_one(Job& job, std::size_t i);
  Status keep_batches(PostgresConnection& db);
  Status keep_journals(PostgresConnection& db);
  Status touch_jobs(PostgresConnection& db);
  Status all(PostgresConnection& db);

  std::span<const Append> appends;
  std::vector<Appended>& out;
  std::map<Name, Job> jobs;
  bool lost_a_row = false;
};

Status PostgresAppender::find_keys(PostgresConnection& db, Round& round) {
  std::vector<std::string> tenants, names;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, job] : round.jobs) {
      if (job.key != 0) continue;
      if (const auto known = keys_.find(name); known != keys_.end()) {
        job.key = known->second;
        continue;
      }
      tenants.push_back(name.first);
      names.push_back(name.second);
    }
  }
  if (names.empty()) return {};
  PostgresParams params;
  auto rows = db.ask(
      "SELECT key, tenant, name FROM unnest($1, $2) AS wanted(t, n) "
      "JOIN job ON tenant = t AND name = n",
      params.add_texts(tenants).add_texts(names));
  if (!rows.ok()) return rows.status();
  const std::lock_guard lock(mutex_);
  if (keys_.size() + names.size() > keys_max) keys_.clear();
  for (int i = 0; i < rows->size(); ++i) {
    const Name name(rows->text(i, 1), rows->text(i, 2));
    keys_[name] = round.jobs[name].key = rows->integer(i, 0);
  }
  return {};
}

// Rows of those that are not there and of which something is going to be kept. In the order of
// their names: who makes the same ones waits for us, and we for nobody.
Status PostgresAppender::make_jobs(PostgresConnection& db, const Round& round) {
  std::vector<std::string> tenants, names;
  for (const auto& [name, job] : round.jobs) {
    if (job.key != 0) continue;
    const bool news = std::ranges::any_of(job.appends, [&](std::size_t i) {
      ingest::ProgressMap nothing;
      const Append& append = round.appends[i];
      return ingest::judge(*append.batch, append.job, append.attempt, nothing).verdict ==
             Verdict::news;
    });
    if (!news) continue;
    tenants.push_back(name.first);
    names.push_back(name.second);
  }
  if (names.empty()) return {};
  PostgresParams params;
  return db
      .ask(
          "INSERT INTO job(tenant, name) SELECT t, n FROM unnest($1, $2) AS wanted(t, n) "
          "ON CONFLICT DO NOTHING",
          params.add_texts(tenants).add_texts(names))
      .status();
}

Status PostgresAppender::prepare(PostgresConnection& db, Round& round) {
  if (Status status = find_keys(db, round); !status.ok()) return status;
  if (std::ranges::any_of(round.jobs, [](const auto& each) { return each.second.key == 0; })) {
    if (Status status = make_jobs(db, round); !status.ok()) return status;
    if (Status status = find_keys(db, round); !status.ok()) return status;
  }
  std::vector<std::int64_t> moments_ns;
  for (const Append& append : round.appends) moments_ns.push_back(append.received_ns);
  const std::lock_guard lock(mutex_);
  return partitions_.ensure(db, moments_ns);
}

Status PostgresAppender::Round::lock(PostgresConnection& db) {
  std::map<JobKey, std::pair<const Name*, Job*>> by_key;
  std::vector<std::int64_t> keys;
  for (auto& [name, job] : jobs) {
    if (job.key == 0) continue;
    by_key[job.key] = {&name, &job};
    keys.push_back(job.key);
  }
  if (keys.empty()) return {};
  PostgresParams params;
  auto rows = db.ask(
      "SELECT key, tenant, name, last_seq, forgotten_seq FROM job WHERE key = ANY($1) "
      "ORDER BY key FOR NO KEY UPDATE",
      params.add_integers(keys));
  if (!rows.ok()) return rows.status();
  std::size_t found = 0;
  for (int i = 0; i < rows->size(); ++i) {
    const auto& [name, job] = by_key.at(rows->integer(i, 0));
    if (Name(rows->text(i, 1), rows->text(i, 2)) != *name) continue;
    ++found;
    job->last_seq = rows->integer(i, 3);
    job->newest_seq = job->last_seq > rows->integer(i, 4) ? job->last_seq : 0;
    job->drawn_seq = job->last_seq;
  }
  if (found == keys.size()) return {};
  lost_a_row = true;
  return Status::io(db.address().name() +
                    ": rows of jobs are gone: was this server put in the place of one that "
                    "knew more?");
}

Status PostgresAppender::Round::read_journals(PostgresConnection& db) {
  std::vector<std::int64_t> keys;
  std::vector<JournalId> ids;
  std::map<JobKey, Job*> by_key;
  for (auto& [name, job] : jobs) {
    if (job.newest_seq == 0) continue;  // it has none
    by_key[job.key] = &job;
    std::set<JournalId> seen;
    for (const std::size_t i : job.appends) {
      each_journal(*appends[i].batch, [&](const JournalId& id) {
        if (!seen.insert(id).second) return;
        keys.push_back(job.key);
        ids.push_back(id);
      });
    }
  }
  if (keys.empty()) return {};
  std::vector<std::span<const std::byte>> blobs;
  for (const JournalId& id : ids) blobs.push_back(bytes_of(id));
  PostgresParams params;
  auto rows = db.ask(
      "SELECT job, id, attempt, slots_max, next_slot, last FROM unnest($1, $2) AS wanted(j, i) "
      "JOIN journal ON job = j AND id = i",
      params.add_integers(keys).add_blobs(blobs));
  if (!rows.ok()) return rows.status();
  for (int i = 0; i < rows->size(); ++i) {
    JournalId id{};
    Progress progress;
    if (!read_into(rows->blob(i, 1), id) || !read_into(rows->blob(i, 5), progress.last)) {
      return damaged_journal(db);
    }
    progress.attempt = static_cast<std::uint64_t>(rows->integer(i, 2));
    progress.slots_max = static_cast<std::uint64_t>(rows->integer(i, 3));
    progress.next_slot = static_cast<std::uint64_t>(rows->integer(i, 4));
    by_key.at(rows->integer(i, 0))->journals[id] = progress;
  }
  return {};
}

void PostgresAppender::Round::judge_one(Job& job, std::size_t i) {
  const Append& append = appends[i];
  ingest::ProgressMap known = known_to(*append.batch, job.journals);
  out[i].judgement = ingest::judge(*append.batch, append.job, append.attempt, known);
  if (out[i].judgement.verdict == Verdict::news) {
    HW_CHECK(job.key != 0);  // make_jobs() judged it so, too
    for (const ingest::HeadRecord& head : append.batch->heads) {
      const JournalId id = ingest::journal_id(head.journal);
      if (!job.journals.contains(id)) job.fresh.emplace(id, head);
    }
    for (const auto& [id, progress] : known) {
      if (!job.fresh.contains(id)) job.moved.insert(id);
      job.journals[id] = progress;
    }
    job.first_ns = std::min(append.received_ns, job.first_ns.value_or(INT64_MAX));
  }
  const bool exists = job.last_seq != 0 || job.first_ns.has_value();
  out[i].job = exists ? job.key : 0;
  for (const ingest::ChunkRecord& chunk : append.batch->chunks) {
    const auto found = known.find(chunk.journal);
    out[i].next.emplace_back(chunk.journal, found == known.end() ? 0 : found->second.next_slot);
  }
  // A sign of life is no news, but it is one.
  if (exists && out[i].judgement.verdict != Verdict::nonsense) {
    job.heard_ns = std::max(append.received_ns, job.heard_ns.value_or(INT64_MIN));
  }
}

void PostgresAppender::Round::judge() {
  for (auto& [name, job] : jobs) {
    for (const std::size_t i : job.appends) judge_one(job, i);
  }
}

Status PostgresAppender::Round::keep_batches(PostgresConnection& db) {
  std::int64_t count = 0;
  for (const Appended& each : out) count += each.judgement.verdict == Verdict::news ? 1 : 0;
  if (count == 0) return {};
  PostgresParams params;
  auto drawn =
      db.ask("SELECT nextval('batch_seq')::int8 FROM generate_series(1, $1)", params.add(count));
  if (!drawn.ok()) return drawn.status();
  HW_CHECK(drawn->size() == count);
  PostgresCopy copy;
  int at = 0;
  for (std::size_t i = 0; i < appends.size(); ++i) {
    if (out[i].judgement.verdict != Verdict::news) continue;
    Job& job = jobs.at({appends[i].tenant, appends[i].job});
    out[i].seq = drawn->integer(at++, 0);
    out[i].before_seq = job.newest_seq;
    out[i].made_job = job.drawn_seq == 0;
    if (out[i].seq <= job.drawn_seq) return numbers_went_back(db);
    job.newest_seq = job.drawn_seq = out[i].seq;
    copy.begin_row(5);
    copy.add(out[i].seq);
    copy.add(job.key);
    copy.add(static_cast<std::int64_t>(appends[i].attempt));
    copy.add(appends[i].received_ns);
    copy.add(appends[i].bytes);
  }
  return db.copy_in("COPY batch(seq, job, attempt, received_ns, bytes) FROM STDIN (FORMAT binary)",
                    copy.finish());
}

Status PostgresAppender::Round::keep_journals(PostgresConnection& db) {
  struct Columns {
    std::vector<std::int64_t> jobs, attempts, slots_max, next_slot;
    std::vector<std::span<const std::byte>> ids, last, heads;
  } fresh, moved;
  for (const auto& [name, job] : jobs) {
    const auto add = [&](Columns& to, const JournalId& id) {
      const Progress& progress = job.journals.at(id);
      to.jobs.push_back(job.key);
      to.ids.push_back(bytes_of(id));
      to.attempts.push_back(static_cast<std::int64_t>(progress.attempt));
      to.slots_max.push_back(static_cast<std::int64_t>(progress.slots_max));
      to.next_slot.push_back(static_cast<std::int64_t>(progress.next_slot));
      to.last.push_back(bytes_of(progress.last));
    };
    for (const auto& [id, head] : job.fresh) {
      add(fresh, id);
      fresh.heads.push_back(bytes_of(head));
    }
    for (const JournalId& id : job.moved) add(moved, id);
  }
  if (!fresh.jobs.empty()) {
    PostgresParams params;
    params.add_integers(fresh.jobs).add_blobs(fresh.ids).add_integers(fresh.attempts);
    params.add_integers(fresh.slots_max).add_integers(fresh.next_slot);
    params.add_blobs(fresh.last).add_blobs(fresh.heads);
    auto done = db.ask(
        "INSERT INTO journal(job, id, attempt, slots_max, next_slot, last, head) "
        "SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)",
        params);
    if (!done.ok()) return done.status();
  }
  if (moved.jobs.empty()) return {};
  PostgresParams params;
  params.add_integers(moved.jobs).add_blobs(moved.ids).add_integers(moved.next_slot);
  auto done = db.ask(
      "UPDATE journal SET next_slot = n, last = l FROM unnest($1, $2, $3, $4) AS moved(j, i, n, l) "
      "WHERE job = j AND id = i",
      params.add_blobs(moved.last));
  if (!done.ok()) return done.status();
  if (done->changed() != static_cast<std::int64_t>(moved.jobs.size())) return damaged_journal(db);
  return {};
}

Status PostgresAppender::Round::touch_jobs(PostgresConnection& db) {
  std::vector<std::int64_t> keys, first_ns, heard_ns, seqs;
  for (const auto& [name, job] : jobs) {
    if (!job.heard_ns) continue;
    keys.push_back(job.key);
    first_ns.push_back(job.first_ns.value_or(INT64_MAX));
    heard_ns.push_back(*job.heard_ns);
    seqs.push_back(job.drawn_seq);
  }
  if (keys.empty()) return {};
  PostgresParams params;
  params.add_integers(keys).add_integers(first_ns).add_integers(heard_ns).add_integers(seqs);
  return db
      .ask(
          "UPDATE job SET first_ns = CASE last_seq WHEN 0 THEN f ELSE least(first_ns, f) END, "
          "heard_ns = CASE last_seq WHEN 0 THEN h ELSE greatest(heard_ns, h) END, last_seq = s "
          "FROM unnest($1, $2, $3, $4) AS heard(k, f, h, s) WHERE key = k",
          params)
      .status();
}

Status PostgresAppender::Round::all(PostgresConnection& db) {
  if (Status status = lock(db); !status.ok()) return status;
  if (Status status = read_journals(db); !status.ok()) return status;
  judge();
  if (Status status = keep_batches(db); !status.ok()) return status;
  if (Status status = keep_journals(db); !status.ok()) return status;
  return touch_jobs(db);
}

Result<std::vector<Appended>> PostgresAppender::append(std::span<const Append> appends) {
  std::vector<Appended> out(appends.size());
  Round round(appends, out);
  auto db = pool_.take_to_write();
  if (!db.ok()) return db.status();
  Status status = prepare(**db, round);
  if (status.ok()) status = (*db)->transaction(Kind::write, [&] { return round.all(**db); });
  if (status.ok()) return out;
  // What we think that is there may not be: another server answers, or a partition was dropped
  // (23514: no partition for a row).
  if ((*db)->is_lost() || round.lost_a_row || (*db)->sqlstate() == "23514") {
    const std::lock_guard lock(mutex_);
    keys_.clear();
    partitions_.doubt();
  }
  return status;
}

}  // namespace headway::store
