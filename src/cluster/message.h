// What agents of one job say to each other: plain values, one struct a message. Who may send what
// when is the business of coordinator_core.h and member_core.h; the bytes are wire.h's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace headway::cluster {

inline constexpr std::uint16_t protocol_version = 2;

// The coordinator speaks first. A hello is therefore younger than the acceptance of its connection,
// and of two hellos of one node the one on the later connection is the truth.
struct Greet {
  std::uint16_t version = protocol_version;
};

// What a node's ranks do. `idle` and `finished` promise that no process of a rank is left, those of
// a predecessor of the agent included.
enum class Activity : std::uint8_t { idle, running, finished };

struct Hello {
  std::uint16_t version = protocol_version;
  std::string job;
  std::string token;
  std::string node;               // unique in the job
  std::uint64_t incarnation = 0;  // random; new for every start of the agent
  std::optional<std::uint32_t> index;
  std::uint32_t nproc = 1;
  std::uint64_t generation_seen = 0;
  Activity activity = Activity::idle;
  std::uint64_t generation = 0;  // that the activity belongs to; 0: none yet
  std::uint16_t port = 0;        // reserved for the next rendezvous; 0 while ranks run
  std::string address;
};

enum class Refusal : std::uint8_t {
  other_job = 1,
  wrong_token,
  version,
  duplicate_node,
  bad_order,
  full,
};
struct Refuse {
  Refusal why = Refusal::bad_order;
  bool retry = false;  // the reason may pass; false: coming back is of no use
  std::string text;    // for a person
};

// Answers a hello. The lease is the coordinator's to set, so that both sides have the same.
struct Welcome {
  std::uint32_t lease_ms = 0;
};

struct Ping {
  std::uint64_t id = 0;
};
struct Pong {
  std::uint64_t id = 0;
};

struct Start {
  std::uint64_t generation = 0;
  std::uint32_t node_rank = 0;
  std::uint32_t nodes = 1;
  std::uint32_t rank_offset = 0;
  std::uint32_t world_size = 1;
  std::uint32_t restart_count = 0;
  std::uint16_t master_port = 0;
  std::string master_addr;
  std::string setting;  // what the coordinator's host wants all ranks of the round to be told
};

enum class StopWhy : std::uint8_t {
  peer_failed = 1,  // a rank or a node of this generation is lost
  membership,       // nodes have come: the next generation is larger
  unknown_round,    // the coordinator does not know this generation (it was restarted)
  job_ends,         // somebody asked the coordinator to end the job
};
struct Stop {
  std::uint64_t generation = 0;
  StopWhy why = StopWhy::peer_failed;
};

// The first rank of a node to end badly; `rank` counts over all nodes.
struct Failed {
  std::uint64_t generation = 0;
  std::uint32_t rank = 0;
  std::int32_t exit_code = 0;
  std::uint8_t signal = 0;
};
// What a node knows of the end of its ranks, for whoever decides about a restart.
struct Account {
  bool progressed = false;        // they trained something that no generation before them had
  bool is_cause = false;          // not the consequence of another node's failure
  bool retryable = true;          // trying again may mend it
  std::uint8_t sure_percent = 0;  // how sure the rest is
  std::string category;           // empty: nothing is known but how they ended
};
// No rank of the generation runs here any more.
struct Stopped {
  std::uint64_t generation = 0;
  std::uint16_t port = 0;
  Account account{};
};
// All ranks of the generation ended with 0 here.
struct Finished {
  std::uint64_t generation = 0;
  std::uint16_t port = 0;
};

// The agreement on a last step (drain_core.h).
struct Notice {  // both ways: told by one member, passed on to all
  std::uint64_t generation = 0;
  std::uint32_t grace_ms = 0;  // until the machine is taken away; 0: not known
};
struct Boundary {
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
};
struct Propose {
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
};
struct Accept {
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
};
struct Raise {
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
};
struct Final {
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
};

// The job is over.
struct Done {
  std::int32_t exit_code = 0;
};
// The member leaves for good; no rank of it is left.
struct Goodbye {};

// The order is that of the type numbers on the wire, from 1 on: append only.
using Message =
    std::variant<Greet, Hello, Refuse, Welcome, Ping, Pong, Start, Stop, Failed, Stopped, Finished,
                 Notice, Boundary, Propose, Accept, Raise, Final, Done, Goodbye>;

const char* name_of(const Message& message);

}  // namespace headway::cluster
