// A training pod as its environment describes it: a plain Job, JobSet, Kubeflow's PyTorchJob and
// TrainJob. The core is pure; the two functions at the end read or write the pod's files.
//
// Pod deletion is the only notice there is: SIGTERM, then SIGKILL after
// terminationGracePeriodSeconds. From inside, an eviction and `kubectl delete` look the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/environment.h"
#include "agent/exit_code.h"
#include "agent/options.h"

namespace headway::agent {

struct PodInfo {
  std::string workload;         // name of the JobSet, training job or Job; may be empty
  bool workload_named = false;  // by a variable, and so the same in all of its pods
  std::string pod;
  std::string space;  // the namespace
  std::string node;
  int node_index = 0;
  int nnodes = 1;
  int nproc_per_node = 0;   // 0: not stated, or "auto"
  std::string master_addr;  // where ranks of all nodes meet; empty: not stated
  int master_port = 0;
  std::uint64_t restart_attempt = 0;     // of the JobSet
  std::int64_t termination_grace_s = 0;  // 0: not stated (Kubernetes' default is 30)
};
// nullopt outside Kubernetes, and in a pod that no training controller has made.
std::optional<PodInfo> pod_info(const Environment& environment);

// "train-ctr", and for a node other than the first "train-ctr-node2": the same in every restart.
// `wired`: the pods run one job together.
std::string default_pod_job_name(const std::string& stem, const PodInfo& pod, bool wired);
// Of several pods that know where to meet and what their job is called: what the user did not say,
// from what the controller did. `has_job_name`: the user gave one.
NodeOptions pod_nodes(NodeOptions options, const PodInfo& pod, bool has_job_name);
// What to keep with the job.
std::vector<std::pair<std::string, std::string>> pod_attrs(const PodInfo& pod);

struct PodMemory {
  std::optional<std::uint64_t> shm_bytes;    // size of /dev/shm
  std::optional<std::uint64_t> limit_bytes;  // of the container's cgroup
};
// A container's /dev/shm has 64 MiB unless the manifest says otherwise: data-loader workers and
// ranks that share tensors die of SIGBUS. One line, or nothing.
std::optional<std::string> shm_warning(const PodMemory& memory, int nproc);
// The limit as cgroup files state it; nullopt: none.
std::optional<std::uint64_t> parse_memory_limit(std::string_view text);

PodMemory read_pod_memory();
// The kubelet shows this line in the pod's status (terminationMessagePath). Best effort.
void write_termination_message(const Environment& environment, ExitClass exit_class,
                               const std::string& what);

}  // namespace headway::agent
