// Which machines a job runs on and where their agents meet: from options, or from what Slurm says.
// Pure: whether an address is this machine's is an argument.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::agent {

struct SlurmInfo;

inline constexpr int kLeaseMinS = 1;
inline constexpr int kLeaseMaxS = 600;
inline constexpr std::uint16_t kMeetingPort = 29400;  // torchrun's
// Below the ports that Linux gives to connections of its own (32768 on).
inline constexpr std::uint16_t kSlurmPortFirst = 20000;
inline constexpr std::uint16_t kSlurmPorts = 10000;

struct NodeCount {
  std::uint32_t min = 1;
  std::uint32_t max = 1;
};
// "4", "2:4".
base::Result<NodeCount> parse_node_count(const std::string& text);

struct NodeOptions {
  std::optional<NodeCount> count;  // none: as the scheduler says
  std::string meeting_place;       // HOST[:PORT]
  std::optional<std::uint32_t> index;
  std::string name;  // empty: the machine's
  std::int64_t lease_ns = 5'000'000'000;
};
// "0", "3".
base::Result<std::uint32_t> parse_node_rank(const std::string& text);
// A time from kLeaseMinS to kLeaseMaxS (base/duration.h), in whole milliseconds.
base::Result<std::int64_t> parse_lease(const std::string& text);
base::Status check_nodes(const NodeOptions& options);

// "node1", "node1:29400", "[fe80::1]:29400".
struct Endpoint {
  std::string host;
  std::uint16_t port = kMeetingPort;
};
base::Result<Endpoint> parse_endpoint(const std::string& text);

// The first host of Slurm's list: "gpu[03-07,11],login1" → "gpu03". Empty: not understood.
std::string first_host(std::string_view node_list);
// The same for all nodes of a Slurm job; jobs of neighbouring ids differ.
std::uint16_t slurm_port(std::string_view job_id);

// One of several nodes.
struct NodePlan {
  NodeCount count;
  Endpoint meeting_place;
  bool coordinates = false;   // the agents meet here
  bool owns_address = false;  // the meeting place's address is this machine's
  std::optional<std::uint32_t> index;
  std::string name;
  std::string token;
  std::int64_t lease_ns = 0;
};
// nullopt: this machine is all there is. `is_local`: is this host's address one of ours?
base::Result<std::optional<NodePlan>> plan_node(
    const NodeOptions& options, const std::optional<SlurmInfo>& slurm, bool has_job_name,
    const std::string& machine, const std::function<bool(const std::string&)>& is_local);

}  // namespace headway::agent
