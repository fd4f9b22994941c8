// The agent's side of a multi-node job: what it tells the coordinator, and what it orders its own
// supervisor to do. A state machine without a system call; `now` is an argument, in ns of a clock
// that also counts while the machine sleeps. Single-threaded.
//
// The ranks run on a lease: it ends one lease after the sending of the last ping that was answered,
// whether or not there is a connection. Then the ranks are killed, because from then on the
// coordinator may start others. A connection that breaks and comes back in time changes nothing
// here; what the coordinator makes of it is its own matter.
//
// After each input take_output() has what to send, whether to dial or to hang up (after what was
// sent), and the orders.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/back_off.h"
#include "base/status.h"
#include "cluster/message.h"

namespace headway::cluster {

struct MemberConfig {
  std::string job;
  std::string token;
  std::string node;  // unique in the job
  std::uint64_t incarnation = 0;
  std::optional<std::uint32_t> index;
  std::uint32_t nproc = 1;
  std::string address;                // for rank 0's store; empty: that of the connection
  std::uint64_t generation_seen = 0;  // where the agent remembers one
  std::int64_t retry_shortest_ns = 50'000'000;
  std::int64_t retry_longest_ns = 2'000'000'000;
  std::int64_t greeting_timeout_ns = 5'000'000'000;  // from dialling to the welcome
  std::int64_t give_up_after_ns = 1'800'000'000'000;
};

// In a user's words, what MemberCore would abort on.
base::Status check_config(const MemberConfig& config);

// Orders to the local supervisor. Each that concerns ranks is answered by ranks_stopped or
// finished.
struct StartRanks {
  std::uint64_t generation = 0;
  std::uint32_t node_rank = 0;
  std::uint32_t nodes = 1;
  std::uint32_t rank_offset = 0;
  std::uint32_t world_size = 1;
  std::uint32_t nproc = 1;  // here
  std::uint32_t restart_count = 0;
  std::string master_addr;
  std::uint16_t master_port = 0;  // on node rank 0: the one reserved last
  std::string setting{};          // the same on all nodes
};
struct StopRanks {  // orderly but quick: a peer is gone, a collective will not return
  StopWhy why = StopWhy::peer_failed;
};
struct KillRanks {};  // SIGKILL, now: the lease is out, or one of the next two follows
struct JobDone {
  int exit_code = 0;
};
struct GiveUp {
  std::string reason;
};
// The agreement on a last step, answered by boundary(), then held() or beyond().
struct AskBoundary {
  std::uint32_t grace_ms = 0;
};
struct HoldAt {  // let no rank go past this step until the next word
  std::uint64_t step = 0;
};
struct StopAfter {
  std::uint64_t step = 0;
};
using Order =
    std::variant<StartRanks, StopRanks, KillRanks, JobDone, GiveUp, AskBoundary, HoldAt, StopAfter>;

struct MemberOutput {
  std::vector<Message> sends;
  std::vector<Order> orders;
  bool dial = false;
  bool hang_up = false;
};

class MemberCore {
 public:
  // `port`: reserved for the first rendezvous.
  MemberCore(const MemberConfig& config, std::uint16_t port, std::int64_t now_ns);

  // The connection: after `dial`, one of the two; on_disconnected also for one that breaks later,
  // but not after `hang_up`. Addresses as text without a port.
  void on_connected(const std::string& own_address, const std::string& peer_address,
                    std::int64_t now_ns);
  void on_disconnected(std::int64_t now_ns);
  void on_message(const Message& message, std::int64_t now_ns);
  void on_deadline(std::int64_t now_ns);

  // The supervisor. A failed rank is followed by ranks_stopped as soon as none is left: the
  // supervisor tears the rest down of itself. `port`: newly reserved.
  void rank_failed(std::uint32_t local_rank, int exit_code, int signal, std::int64_t now_ns);
  void ranks_stopped(std::uint16_t port, std::int64_t now_ns, Account account = {});
  void finished(std::uint16_t port, std::int64_t now_ns);  // all ranks ended with 0
  void notice(std::uint32_t grace_ms, std::int64_t now_ns);
  void boundary(std::uint64_t step, std::int64_t now_ns);
  void held(std::uint64_t step, std::int64_t now_ns);
  void beyond(std::uint64_t step,
              std::int64_t now_ns);  // a rank is at this step, at or past the hold
  // The agent ends; its ranks have stopped.
  void leave(std::int64_t now_ns);

  [[nodiscard]] std::optional<std::int64_t> deadline_ns() const;
  // When ranks that run must be gone unless a pong comes first.
  [[nodiscard]] std::optional<std::int64_t> lease_until_ns() const {
    return has_ranks() ? std::optional(lease_until_ns_) : std::nullopt;
  }
  [[nodiscard]] MemberOutput take_output() { return std::exchange(output_, {}); }
  [[nodiscard]] bool joined() const { return link_ == LinkState::joined; }
  [[nodiscard]] bool over() const { return link_ == LinkState::over; }
  [[nodiscard]] std::uint64_t generation_seen() const { return generation_seen_; }

 private:
  enum class LinkState : std::uint8_t { waiting, dialling, greeting, joined, over };
  enum class Ranks : std::uint8_t { none, running, failing, stopping, killing, finished };
  struct SentPing {
    std::uint64_t id = 0;
    std::int64_t sent_ns = 0;
  };
  static constexpr std::size_t pings_max = 64;  // unanswered; the lease ends long before

  [[nodiscard]] bool has_ranks() const {
    return ranks_ != Ranks::none && ranks_ != Ranks::finished;
  }
  [[nodiscard]] bool trains(std::uint64_t generation) const {
    return ranks_ == Ranks::running && generation == generation_;
  }
  void send(Message message) { output_.sends.push_back(std::move(message)); }
  void say_hello(std::int64_t now_ns);
  void on_greet(std::int64_t now_ns);
  void on_welcome(const Welcome& welcome, std::int64_t now_ns);
  void on_refuse(const Refuse& refuse, std::int64_t now_ns);
  void on_pong(const Pong& pong);
  void on_start(const Start& start, std::int64_t now_ns);
  void on_stop(const Stop& stop);
  void on_done(const Done& done);
  void hang_up(std::int64_t now_ns);
  void wait_to_dial(std::int64_t now_ns);
  void kill_ranks();
  void give_up(std::string reason);
  void ping(std::int64_t now_ns);

  MemberConfig config_;
  base::BackOff back_off_;
  MemberOutput output_;
  LinkState link_ = LinkState::waiting;
  Ranks ranks_ = Ranks::none;
  std::uint64_t generation_ = 0;  // of the ranks, also when they have stopped
  std::uint64_t generation_seen_ = 0;
  std::uint32_t rank_offset_ = 0;
  std::uint16_t port_ = 0;
  bool told_running_ = false;  // the coordinator expects a `stopped` or `finished`
  std::optional<Failed> failure_;
  Account account_;  // of the ranks that stopped last
  std::optional<Notice> notice_;
  std::string own_address_;
  std::string peer_address_;
  std::string last_refusal_;
  std::int64_t link_deadline_ns_ = 0;          // to dial, or for the welcome
  std::optional<std::int64_t> hello_sent_ns_;  // on this connection
  std::int64_t unjoined_since_ns_ = 0;
  std::int64_t lease_ns_ = 0;
  std::int64_t lease_until_ns_ = 0;
  std::int64_t next_ping_ns_ = 0;
  std::uint64_t next_ping_id_ = 1;
  std::deque<SentPing> pings_;
};

}  // namespace headway::cluster
