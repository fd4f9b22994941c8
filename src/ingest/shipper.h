// Sends a job's journals to a collector while they are written, and what is left of them later. The
// journals themselves are what is kept while the collector is away: nothing else is written, and a
// shipper that is killed loses nothing, because the collector knows how far it has each of them.
//
// A round reads what is new and sends one batch. Whatever becomes of it, nothing is sent twice to
// effect and nothing is left out: positions are the collector's answer's, not ours. Time comes in
// as an argument; what a round wants next it says: of a job that is new to the collector it looks
// more often, so that people see it begin. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/back_off.h"
#include "ingest/batch.h"
#include "ingest/journal_tail.h"
#include "net/http.h"

namespace headway::ingest {

struct Destination {
  std::string url;    // "https://collector:8743"; the path is ours to add
  std::string token;  // empty: none
};

struct ShipOptions {
  Destination to;
  std::string job_dir;
  std::string job;          // journals of another one are none of ours
  bool every_host = false;  // journals of other machines in the folder, too
  std::string host = {};    // of this machine: journals of its earlier boots, too; empty: not
};

struct ShipCounts {
  std::uint64_t batches = 0, slots = 0, bytes = 0;  // that the collector has taken
  std::uint64_t retries = 0;                        // answers that said later, and none at all
  std::uint64_t refused_journals = 0;               // which it will not have; the others it got
};

class Shipper {
 public:
  static constexpr std::int64_t look_ns = 1'000'000'000;           // for what is new
  static constexpr std::int64_t first_look_ns = 250'000'000;       // until a first batch was taken
  static constexpr std::int64_t sign_of_life_ns = 10'000'000'000;  // without anything new
  static constexpr std::int64_t longest_wait_ns = 60'000'000'000;
  static constexpr std::size_t tails_max = 1024;  // open at once

  Shipper(net::Transport& transport, ShipOptions options, std::uint64_t seed);

  struct Round {
    std::int64_t wait_ns = 0;  // until the next one; 0: there is more to send
    bool idle = false;         // there was nothing to send
    bool caught_up = false;    // the collector has all that there was
    std::string note = {};     // one line for a person, when something has changed
  };
  // `over`: nobody writes into the folder any more.
  Round round(std::int64_t now_ns, std::int64_t real_ns, bool over);

  // After a round with `over`: the collector has all of all journals, or will not have them.
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] const ShipCounts& counts() const { return counts_; }

 private:
  using Place = std::pair<std::uint64_t, std::string>;  // attempt, path
  struct Tail {
    std::unique_ptr<JournalTail> journal;
    bool known = false;      // to the collector: its head need not go along
    bool last_told = false;  // the final chunk is in the batch under way
  };
  void look();
  void open(const std::string& path);
  std::uint64_t fill(BatchWriter& batch, bool over, bool sign_of_life);
  bool add(BatchWriter& batch, Tail& tail, bool over, bool sign_of_life);
  Round send(const BatchWriter& batch, std::uint64_t attempt, std::int64_t now_ns,
             std::int64_t real_ns);
  Round taken(const BatchWriter& batch, std::size_t bytes);
  Round later(const net::Exchange& exchange);
  void take_positions(const std::string& body);
  void rewind(const BatchWriter& batch);
  std::uint64_t fill_suspects(BatchWriter& batch, bool over);
  Round refused(const BatchWriter& batch, const std::string& why);
  Round told(std::int64_t wait_ns, const std::string& note);
  Tail* find(const JournalId& id);

  net::Transport& transport_;
  const ShipOptions options_;
  base::BackOff back_off_;
  std::map<Place, Tail> tails_;
  std::map<JournalId, Place> places_;  // of tails_
  std::set<std::string> finished_;     // paths that need not be looked at again
  // Journals of a batch that was refused, in groups that are sent by themselves until it is known
  // which ones it was for.
  std::deque<std::vector<JournalId>> suspects_;
  std::int64_t next_sign_ns_ = INT64_MIN;
  std::string last_note_, last_refusal_;
  bool more_attempts_ = false;  // have something to say, after the one under way
  bool all_open_ = false;       // every path that there is is in tails_ or finished_
  bool done_ = false;
  ShipCounts counts_;
};

}  // namespace headway::ingest
