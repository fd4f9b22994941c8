#include "agent/kubernetes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <charconv>

#include "base/file.h"
#include "base/job_path.h"

namespace headway::agent {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t shm_default_bytes = 64 * kMiB;  // of every container runtime
constexpr std::uint64_t limit_bytes_max = 1ull << 60;   // cgroup v1 writes a huge number for none
constexpr std::size_t limit_text_bytes_max = 64;

// The first of the variables that is set and not empty.
std::string first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string* value = find_variable(environment, name);
    if (value != nullptr && !value->empty()) return *value;
  }
  return {};
}

template <typename T>
T number_or(std::string_view text, T otherwise) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole && value >= 0 ? value : otherwise;
}

// "4", or torchrun's elastic "2:4", of which the larger number of nodes is meant to be there.
int nnodes_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  return number_or(colon == std::string::npos ? std::string_view(text)
                                              : std::string_view(text).substr(colon + 1),
                   0);
}

// "ctr-workers-0-1-x7k2p" → what a person called it cannot be told from what was appended, so only
// the five random characters of a Job's pod are taken off.
std::string without_random_suffix(const std::string& pod) {
  constexpr std::size_t random_bytes = 5;
  const std::size_t dash = pod.rfind('-');
  if (dash == std::string::npos || pod.size() - dash - 1 != random_bytes) return pod;
  return pod.substr(0, dash);
}

void find_meeting_place(const Environment& environment, PodInfo& pod) {
  pod.master_addr = first_of(environment, {"PET_MASTER_ADDR", "MASTER_ADDR"});
  pod.master_port = number_or(first_of(environment, {"PET_MASTER_PORT", "MASTER_PORT"}), 0);
  const std::string endpoint = first_of(environment, {"PET_RDZV_ENDPOINT"});
  const std::size_t colon = endpoint.rfind(':');
  if (!pod.master_addr.empty() || colon == std::string::npos) return;
  pod.master_addr = endpoint.substr(0, colon);
  pod.master_port = number_or(std::string_view(endpoint).substr(colon + 1), 0);
}

}  // namespace

std::optional<PodInfo> pod_info(const Environment& environment) {
  if (find_variable(environment, "KUBERNETES_SERVICE_HOST") == nullptr) return std::nullopt;
  const std::string marker =
      first_of(environment, {"JOB_COMPLETION_INDEX", "JOBSET_NAME", "PET_NNODES", "PET_NODE_RANK"});
  if (marker.empty()) return std::nullopt;
  PodInfo pod;
  pod.pod = first_of(environment, {"POD_NAME", "HOSTNAME"});
  pod.workload = first_of(environment, {"JOBSET_NAME", "TRAINJOB_NAME", "JOB_NAME"});
  pod.workload_named = !pod.workload.empty();
  if (pod.workload.empty()) pod.workload = without_random_suffix(pod.pod);
  pod.space = first_of(environment, {"POD_NAMESPACE"});
  pod.node = first_of(environment, {"NODE_NAME"});
  pod.nproc_per_node = number_or(first_of(environment, {"PET_NPROC_PER_NODE"}), 0);
  // PyTorchJob's RANK and WORLD_SIZE count pods where it states no processes per node.
  const bool counts_pods = !first_of(environment, {"PET_NNODES"}).empty();
  pod.node_index = number_or(first_of(environment, {"PET_NODE_RANK", "JOB_COMPLETION_INDEX"}),
                             counts_pods ? number_or(first_of(environment, {"RANK"}), 0) : 0);
  pod.nnodes = nnodes_of(first_of(environment, {"PET_NNODES", "NNODES"}));
  if (pod.nnodes < 1) pod.nnodes = 1;
  find_meeting_place(environment, pod);
  pod.restart_attempt =
      number_or<std::uint64_t>(first_of(environment, {"JOBSET_RESTART_ATTEMPT"}), 0);
  pod.termination_grace_s =
      number_or<std::int64_t>(first_of(environment, {"TERMINATION_GRACE_PERIOD_SECONDS"}), 0);
  return pod;
}

NodeOptions pod_nodes(NodeOptions options, const PodInfo& pod, bool has_job_name) {
  // A manifest that names a place to meet, whatever its number of pods: here it is one.
  if (!options.count && pod.nnodes < 2 && !options.meeting_place.empty()) {
    options.count = NodeCount{1, 1};
  }
  if (options.count || pod.nnodes < 2 || pod.master_addr.empty()) return options;
  if (!has_job_name && !pod.workload_named) return options;
  const auto nodes = static_cast<std::uint32_t>(pod.nnodes);
  options.count = NodeCount{nodes, nodes};
  if (!options.index) options.index = static_cast<std::uint32_t>(pod.node_index);
  // A pod that is made anew has another name, but the same place.
  if (options.name.empty()) options.name = fmt::format("node{}", pod.node_index);
  if (options.meeting_place.empty()) {
    const int port = pod.master_port > 0 ? pod.master_port : kMeetingPort;
    const bool is_six = pod.master_addr.find(':') != std::string::npos;
    options.meeting_place = is_six ? fmt::format("[{}]:{}", pod.master_addr, port)
                                   : fmt::format("{}:{}", pod.master_addr, port);
  }
  return options;
}

std::string default_pod_job_name(const std::string& stem, const PodInfo& pod, bool wired) {
  std::string name = pod.workload.empty() ? stem : fmt::format("{}-{}", stem, pod.workload);
  if (pod.node_index > 0 && !wired) name += fmt::format("-node{}", pod.node_index);
  return base::sanitize_job_name(name);
}

std::vector<std::pair<std::string, std::string>> pod_attrs(const PodInfo& pod) {
  std::vector<std::pair<std::string, std::string>> attrs;
  const auto add = [&attrs](const char* key, const std::string& value) {
    if (!value.empty()) attrs.emplace_back(key, value);
  };
  add("kubernetes_workload", pod.workload);
  add("kubernetes_pod", pod.pod);
  add("kubernetes_namespace", pod.space);
  add("kubernetes_node", pod.node);
  if (pod.termination_grace_s > 0) {
    add("termination_grace_s", fmt::to_string(pod.termination_grace_s));
  }
  return attrs;
}

std::optional<std::string> shm_warning(const PodMemory& memory, int nproc) {
  if (nproc < 2 || !memory.shm_bytes || *memory.shm_bytes > shm_default_bytes) return std::nullopt;
  const std::string limit =
      memory.limit_bytes ? fmt::format(", below the limit of {} MiB", *memory.limit_bytes / kMiB)
                         : std::string();
  return fmt::format(
      "/dev/shm holds {} MiB, the containers' default: data loaders and ranks that share tensors "
      "die of SIGBUS; mount an emptyDir with medium: Memory and a sizeLimit{} there",
      *memory.shm_bytes / kMiB, limit);
}

std::optional<std::uint64_t> parse_memory_limit(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const auto bytes = number_or<std::uint64_t>(text, UINT64_MAX);  // "max"
  return bytes < limit_bytes_max ? std::optional(bytes) : std::nullopt;
}

PodMemory read_pod_memory() {
  PodMemory memory;
  struct statvfs shm{};
  if (::statvfs("/dev/shm", &shm) == 0) {
    memory.shm_bytes = static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize;
  }
  // A container sees its own cgroup as the root of the hierarchy.
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const auto text = base::read_file(path, limit_text_bytes_max);
    if (text.ok() && !memory.limit_bytes) memory.limit_bytes = parse_memory_limit(text.value());
  }
  return memory;
}

void write_termination_message(const Environment& environment, ExitClass exit_class,
                               const std::string& what) {
  std::string path = first_of(environment, {"HEADWAY_TERMINATION_LOG"});
  if (path.empty()) path = "/dev/termination-log";
  // Made by the kubelet where it is wanted; never by us.
  const base::UniqueFd file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) return;
  const std::string line = fmt::format("headway: {}: {}\n", describe(exit_class), what);
  const ssize_t ignored = ::write(file.get(), line.data(), line.size());
  (void)ignored;
}

}  // namespace headway::agent
