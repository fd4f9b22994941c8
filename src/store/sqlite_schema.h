// The tables of the SQLite engine, as steps from one version to the next: a database of any earlier
// version is brought up to the newest when it is opened, a newer one is refused. A step that was
// ever released never changes. Pure data.
#pragma once

#include <array>

namespace headway::store {

inline constexpr std::array kSchemaSteps = {
    // 1
    R"sql(
CREATE TABLE token(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  role INTEGER NOT NULL,
  label TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  created_ns INTEGER NOT NULL
) STRICT;
CREATE TABLE job(
  key INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  first_ns INTEGER NOT NULL,
  heard_ns INTEGER NOT NULL,
  UNIQUE(tenant, name)
) STRICT;
CREATE INDEX job_heard ON job(heard_ns);
CREATE TABLE journal(
  job INTEGER NOT NULL REFERENCES job,
  id BLOB NOT NULL,
  attempt INTEGER NOT NULL,
  slots_max INTEGER NOT NULL,
  next_slot INTEGER NOT NULL,
  last BLOB NOT NULL,
  head BLOB NOT NULL,
  PRIMARY KEY(job, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE batch(
  seq INTEGER PRIMARY KEY,
  job INTEGER NOT NULL REFERENCES job,
  attempt INTEGER NOT NULL,
  received_ns INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;
CREATE INDEX batch_of_job ON batch(job);
CREATE INDEX batch_of_attempt ON batch(job, attempt);
)sql",
    // 2. Numbers are counted, not the largest one plus one: that one may have been forgotten.
    R"sql(
CREATE TABLE counter(
  seq INTEGER NOT NULL,
  change INTEGER NOT NULL
) STRICT;
INSERT INTO counter(seq, change) SELECT coalesce(max(seq), 0), 0 FROM batch;
CREATE TABLE fact(
  job INTEGER NOT NULL REFERENCES job,
  attempt INTEGER NOT NULL,
  upto_seq INTEGER NOT NULL,
  change INTEGER NOT NULL UNIQUE,
  bytes BLOB NOT NULL,
  PRIMARY KEY(job, attempt)
) STRICT;
CREATE TABLE alert(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  key TEXT NOT NULL,
  document TEXT NOT NULL,
  changed_ns INTEGER NOT NULL,
  UNIQUE(tenant, key)
) STRICT;
CREATE INDEX alert_changed ON alert(changed_ns);
)sql",
};

}  // namespace headway::store
