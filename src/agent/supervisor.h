// Runs one attempt: starts the ranks, carries their output, obeys AttemptPolicy, and returns when
// no process of the attempt is left. One epoll loop, no threads, nothing polls: a rank's end, a
// signal, output and the grace's end each wake it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/chore.h"
#include "agent/companion.h"
#include "agent/console.h"
#include "agent/diagnosis.h"
#include "agent/fork_server.h"
#include "agent/guard.h"
#include "agent/hang_watch.h"
#include "agent/journal.h"
#include "agent/line_cutter.h"
#include "agent/policy.h"
#include "agent/rank_progress.h"
#include "agent/replica_keeper.h"
#include "agent/scheduler.h"
#include "agent/signals.h"
#include "agent/spawn.h"
#include "agent/sweep.h"
#include "base/status.h"
#include "record/board.h"

namespace headway::agent {

struct AttemptPlan {
  int nproc = 1;
  std::int64_t grace_ns = 0;
  bool own_process_groups = true;  // false: the one rank shares our terminal and our group
  bool under_scheduler = false;
  Scheduler* scheduler = nullptr;  // whom to ask what a signal means; may be none
  bool has_ranks = true;           // false: one program, perhaps a launcher of ranks
  std::string dir;                 // the attempt's folder, for logs; empty: none are kept
  std::function<SpawnPlan(int rank)> process;
  std::function<void()> before_mark;  // is the journal still the one of the attempt that runs?
  ForkServer* server = nullptr;       // null: ranks are started plainly
  std::string plain_reason;           // why there is none, if somebody might miss it
  std::function<void()> server_gone;  // it ended while nobody waited for it
  std::function<void()> started;      // all ranks run: there is time for other things
  int first_rank = 0;                 // of the job, on this machine
  Companion* companion = nullptr;     // null: this machine is all there is
  std::vector<Chore*> chores;         // that want a moment now and then
  RankProgress* progress = nullptr;   // null: nothing is known of the ranks' steps
  ReplicaKeeper* replica = nullptr;   // null: none is kept
  record::Board* board = nullptr;     // on which ranks ask whether to stop; null: none
  HangLimit hang;
};

// Ranks in it are the job's, not this machine's.
struct AttemptResult {
  Outcome outcome;
  Remains remains;  // for whoever asks why
};

class Supervisor {
 public:
  Supervisor(const AttemptPlan& plan, Signals& signals, Console& console, AgentJournal& journal,
             Guard& guard, Sweep& sweep);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // A failure is one of starting the ranks; how they ended is in the outcome.
  base::Result<AttemptResult> run();

 private:
  // What an epoll event is about.
  enum class Watch : std::uint32_t {
    signals,
    rank_end,
    rank_out,
    rank_err,
    sink,
    server,
    companion,
    replica
  };
  struct Stream {
    base::UniqueFd fd;
    LineCutter cutter;
    bool is_stderr = false;
    bool paused = false;  // its sink is full
  };
  struct Rank {
    Child child;
    RankLog log;
    failure::Tail tail{Remains::tail_lines_max, Remains::tail_bytes_max};
    std::vector<Stream> streams;  // stdout and stderr while they are open and captured
    OutputPipes pipes;            // of a rank that the fork server was asked for
    bool pending = false;         // asked for, no process yet
    bool running = false;
  };

  bool watch(int fd, std::uint32_t events, Watch kind, int rank);
  void unwatch(int fd);

  base::Status start();
  bool ask_server();
  void serve_server();
  base::Status start_pending_plainly(const std::string& reason);
  void adopt(int index, pid_t pid);
  void cancel_pending(int signal);
  [[nodiscard]] bool any_pending() const;
  base::Status start_rank(int index);
  void begin_rank(int index, Child child);
  void note_start(const std::string& how);
  AttemptResult result();
  void serve_companion();
  void end_unstarted();
  void serve_once();
  void on_rank_ready(int index);
  void end_rank(int index, const RankEnd& end);
  void on_signals();
  void on_scheduler_signal(int signal);
  void await_word(const RankEnd& end);
  void await_last_word();
  void serve_signals_until_told(std::int64_t wait_ns);
  void record_notice();
  void learn_why_stopped();
  int origin_of_failure();
  void send_to_live(int signal);
  [[nodiscard]] int signal_for(int rank, int signal) const;
  [[nodiscard]] bool asks_to_stop(int rank) const;
  void agree_on_stop();
  void tell_stop(const Signal& signal);
  void stop_after(std::int64_t step);
  void follow_last_step();
  void pass_stop_to_terminal();
  void reap_adopted();
  void watch_replica();
  void start_replica_holder();
  void read_stream(Rank& rank, Stream& stream, bool until_empty);
  void close_stream(Stream& stream);
  void update_flow();
  void watch_sink(Sink& sink, bool& watched);
  void drain_output();
  [[nodiscard]] Sink& sink_of(const Stream& stream);
  [[nodiscard]] int wait_ms() const;
  void watch_for_hang();
  void end_hang(const HangWatch::Hang& hang);

  const AttemptPlan& plan_;
  Signals& signals_;
  Console& console_;
  AgentJournal& journal_;
  Guard& guard_;
  Sweep& sweep_;
  AttemptPolicy policy_;
  HangWatch hang_watch_;
  std::int64_t next_look_ns_ = 0;
  std::optional<Remains::Hang> hang_;
  base::UniqueFd epoll_;
  std::vector<Rank> ranks_;
  std::vector<char> buffer_;
  bool out_watched_ = false;
  bool err_watched_ = false;
  bool failure_recorded_ = false;
  bool server_watched_ = false;
  bool replica_watched_ = false;
  bool start_noted_ = false;
  bool stop_agreed_ = false;
  bool notice_recorded_ = false;
  std::optional<std::int64_t> last_step_until_ns_;  // other nodes are being asked
  bool started_told_ = false;
  std::int64_t server_deadline_ns_ = 0;  // while ranks are pending
  base::Status start_status_;            // of ranks that fell back to a plain start
};

}  // namespace headway::agent
