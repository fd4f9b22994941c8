// Which kinds of GPU a machine has, in one word that an archive is bound to: code for one kind is
// of no use to another. What is asked makes no CUDA context and takes no memory of a GPU. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headway::cache {

// What `nvidia-smi --query-gpu=compute_cap --format=csv,noheader` prints: "9.0", a line for each
// GPU → "sm_90", of several kinds "sm_80,sm_90". Empty: there is none, or it says something else.
[[nodiscard]] std::string gpu_of_nvidia(std::string_view answer);
// "gfx_target_version 90010", of /sys/class/kfd/kfd/topology/nodes/N/properties → "gfx90a"; of a
// processor, which has 0, nothing.
[[nodiscard]] std::string gpu_of_kfd(std::string_view properties);
// Each once, sorted, with commas between.
[[nodiscard]] std::string joined_gpus(std::vector<std::string> kinds);
// Does this build of torch make code for GPUs? "2.13.0+cpu" does not.
[[nodiscard]] bool is_for_gpus(std::string_view torch);

}  // namespace headway::cache
