#include "cli/gpu_memo.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/file_system.h"
#include "base/hash.h"
#include "cache/gpu.h"
#include "cli/ask_python.h"

namespace headway::cli {
namespace {

constexpr std::size_t kBytesMax = 64 << 10;
constexpr const char* kProgram = "nvidia-smi";
constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes";
constexpr std::string_view kFirstLine = "headway gpu 1\n";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string program_on_path() {
  const std::string path = variable("PATH");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string place = path.substr(at, end - at) + "/" + kProgram;
    if (end > at && ::access(place.c_str(), X_OK) == 0) return place;
    at = end + 1;
  }
  return "";
}

std::string read(const std::string& path) {
  auto text = base::read_file(path, kBytesMax);
  return text.ok() ? *text : "";
}

// Of AMD's the kernel tells.
std::string kfd_gpus() {
  auto nodes = base::real_file_system().list(kNodes);
  std::vector<std::string> kinds;
  if (!nodes.ok()) return "";
  for (const base::FolderEntry& node : *nodes) {
    std::string kind = cache::gpu_of_kfd(read(fmt::format("{}/{}/properties", kNodes, node.name)));
    if (!kind.empty()) kinds.push_back(std::move(kind));
  }
  return cache::joined_gpus(std::move(kinds));
}

// Whatever could make the answer another one.
std::string stamp_of(const std::string& program) {
  std::string text = program + "\n" + read("/proc/driver/nvidia/version") + "\n" +
                     variable("NVIDIA_VISIBLE_DEVICES") + "\n" + base::hex(base::boot_id());
  for (const char* folder : {"/proc/driver/nvidia/gpus", "/dev"}) {
    auto entries = base::real_file_system().list(folder);
    if (!entries.ok()) continue;
    for (const base::FolderEntry& entry : *entries) {
      if (entry.is_folder || entry.name.starts_with("nvidia")) text += "\n" + entry.name;
    }
  }
  return base::hex(base::sha256(base::bytes_of(text)));
}

}  // namespace

std::string default_memory_folder() {
  const std::string cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (cache.empty() && home.empty()) return "";
  return (cache.empty() ? home + "/.cache" : cache) + "/headway/torch";
}

std::string remembered_gpu(const std::string& memory) {
  const std::string program = program_on_path();
  if (program.empty()) return kfd_gpus();
  char host[256] = "";
  (void)::gethostname(host, sizeof host - 1);  // a home may be that of many machines
  const std::string path = fmt::format("{}/gpu-{}.txt", memory,
                                       base::hex(base::sha256(base::bytes_of(host))).substr(0, 8));
  const std::string head = fmt::format("{}stamp={}\ngpu=", kFirstLine, stamp_of(program));
  if (const std::string kept = memory.empty() ? "" : read(path);
      kept.starts_with(head) && kept.ends_with('\n')) {
    return kept.substr(head.size(), kept.size() - head.size() - 1);
  }
  std::string answer;
  const std::string error =
      ask_program({program, "--query-gpu=compute_cap", "--format=csv,noheader"}, answer);
  // One that fails, as without its driver, may do better next time.
  if (!error.empty()) return kfd_gpus();
  std::string gpu = cache::gpu_of_nvidia(answer);
  if (gpu.empty()) gpu = kfd_gpus();
  if (!memory.empty() && base::make_dirs(memory).ok()) {
    (void)base::write_file_atomic(path, head + gpu + "\n");
  }
  return gpu;
}

}  // namespace headway::cli
