#include "agent/nodes.h"

#include <fmt/format.h>

#include <charconv>

#include "agent/identity.h"
#include "base/duration.h"
#include "cluster/limits.h"

namespace headway::agent {
namespace {

using base::Status;

template <typename T>
std::optional<T> number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status check_index(std::uint32_t index, const NodeCount& count) {
  if (index < count.max) return {};
  return Status::invalid(fmt::format("--node-rank {}: of {} the places are 0 to {}", index,
                                     count.max == 1 ? "1 node" : fmt::format("{} nodes", count.max),
                                     count.max - 1));
}

}  // namespace

base::Result<NodeCount> parse_node_count(const std::string& text) {
  const std::string_view all = text;
  const std::size_t colon = all.find(':');
  const auto min = number<std::uint32_t>(all.substr(0, colon));
  const auto max =
      colon == std::string_view::npos ? min : number<std::uint32_t>(all.substr(colon + 1));
  const auto in_range = [](const std::optional<std::uint32_t>& n) {
    return n && *n >= 1 && *n <= cluster::nodes_max;
  };
  if (!in_range(min) || !in_range(max)) {
    return Status::invalid(
        fmt::format("--nnodes {}: want N or MIN:MAX, 1 to {}", text, cluster::nodes_max));
  }
  if (*min > *max) {
    return Status::invalid(fmt::format("--nnodes {}: MIN must not exceed MAX", text));
  }
  return NodeCount{*min, *max};
}

base::Result<Endpoint> parse_endpoint(const std::string& text) {
  Endpoint endpoint;
  std::string_view rest = text;
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    endpoint.host = rest.substr(1, close == std::string_view::npos ? 0 : close - 1);
    rest.remove_prefix(close == std::string_view::npos ? rest.size() : close + 1);
  } else {
    endpoint.host = rest.substr(0, rest.find(':'));
    rest.remove_prefix(endpoint.host.size());
  }
  const auto port = rest.starts_with(':') ? number<std::uint16_t>(rest.substr(1))
                    : rest.empty()        ? std::optional(kMeetingPort)
                                          : std::nullopt;
  if (endpoint.host.empty() || !port || *port == 0) {
    return Status::invalid(fmt::format(
        "--rdzv {}: want HOST or HOST:PORT with a port from 1 to 65535, the address of the first "
        "node",
        text));
  }
  endpoint.port = *port;
  return endpoint;
}

base::Result<std::uint32_t> parse_node_rank(const std::string& text) {
  const auto rank = number<std::uint32_t>(text);
  if (rank && *rank < cluster::nodes_max) return *rank;
  return Status::invalid(
      fmt::format("--node-rank {}: want 0 to {}", text, std::size_t{cluster::nodes_max} - 1));
}

base::Result<std::int64_t> parse_lease(const std::string& text) {
  auto lease = base::parse_time_option("--lease", text, kLeaseMinS, kLeaseMaxS);
  if (lease.ok()) *lease -= *lease % 1'000'000;  // the other nodes are told in milliseconds
  return lease;
}

Status check_nodes(const NodeOptions& options) {
  if (options.count && options.index) {
    if (Status status = check_index(*options.index, *options.count); !status.ok()) return status;
  }
  if (!options.meeting_place.empty()) {
    if (const auto endpoint = parse_endpoint(options.meeting_place); !endpoint.ok()) {
      return endpoint.status();
    }
  }
  if (options.name.size() > cluster::node_bytes_max) {
    return Status::invalid(fmt::format("--node-name: at most {} bytes", cluster::node_bytes_max));
  }
  return {};
}

std::string first_host(std::string_view node_list) {
  const std::size_t open = node_list.find('[');
  const std::size_t comma = node_list.find(',');
  if (open == std::string_view::npos || comma < open) {
    return std::string(node_list.substr(0, comma));
  }
  const std::size_t close = node_list.find(']', open);
  if (close == std::string_view::npos) return {};
  const std::string_view inside = node_list.substr(open + 1, close - open - 1);
  const std::string_view first = inside.substr(0, inside.find_first_of(",-"));
  if (first.empty()) return {};
  // "r[1-2]n[1-4]": what follows has a first one too.
  std::string_view rest = node_list.substr(close + 1);
  std::string behind;
  if (!rest.empty() && rest.front() != ',') {
    behind = first_host(rest);
    if (behind.empty()) return {};
  }
  return fmt::format("{}{}{}", node_list.substr(0, open), first, behind);
}

std::uint16_t slurm_port(std::string_view job_id) {
  const std::uint64_t id = number<std::uint64_t>(job_id.substr(0, job_id.find('_'))).value_or(0);
  return static_cast<std::uint16_t>(kSlurmPortFirst + id % kSlurmPorts);
}

base::Result<std::optional<NodePlan>> plan_node(
    const NodeOptions& options, const std::optional<SlurmInfo>& slurm, bool has_job_name,
    const std::string& machine, const std::function<bool(const std::string&)>& is_local) {
  NodePlan plan;
  const bool in_step = slurm && slurm->step_nodes > 1;
  // Each of several machines would train by itself, as if the others were not there.
  if (!options.count && !in_step && !options.meeting_place.empty()) {
    return Status::invalid(fmt::format("--rdzv {}: say with --nnodes how many nodes meet there",
                                       options.meeting_place));
  }
  const auto step_nodes = static_cast<std::uint32_t>(in_step ? slurm->step_nodes : 1);
  plan.count = options.count.value_or(NodeCount{step_nodes, step_nodes});
  if (plan.count.max <= 1) return std::optional<NodePlan>();
  if (options.index && !options.count) {
    if (Status status = check_index(*options.index, plan.count); !status.ok()) return status;
  }
  plan.index = options.index;
  plan.name = options.name;
  if (plan.name.empty())
    plan.name = in_step && !slurm->node_name.empty() ? slurm->node_name : machine;
  plan.lease_ns = options.lease_ns;
  if (slurm) plan.token = slurm->job_id;
  if (!options.meeting_place.empty()) {
    plan.meeting_place = parse_endpoint(options.meeting_place).value();
  } else if (in_step) {
    plan.meeting_place = {first_host(slurm->step_hosts), slurm_port(slurm->job_id)};
  }
  if (in_step && !plan.index) plan.index = static_cast<std::uint32_t>(slurm->node_index);
  if (plan.meeting_place.host.empty()) {
    return Status::invalid(
        "--nnodes: say with --rdzv HOST:PORT where the nodes meet, at an address of the first");
  }
  if (!has_job_name && !slurm) {
    return Status::invalid("--nnodes: give the job the same name on all nodes with --job");
  }
  plan.owns_address = is_local(plan.meeting_place.host);
  plan.coordinates = plan.index ? *plan.index == 0 : plan.owns_address;
  return std::optional<NodePlan>(std::move(plan));
}

}  // namespace headway::agent
