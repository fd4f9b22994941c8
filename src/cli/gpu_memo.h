// Which kinds of GPU this machine has (cache/gpu.h), remembered: the first question to a driver
// that is not loaded takes seconds. An answer counts as long as the machine has not been started
// again and driver, devices and what is visible of them are what they were. One thread.
#pragma once

#include <string>

namespace headway::cli {

// `memory`: a folder for the answer, made where it is not there; "": none. Empty: there is no GPU,
// or nothing here that could be asked.
[[nodiscard]] std::string remembered_gpu(const std::string& memory);
// The folder that `headway run` remembers in; "": there is no home.
[[nodiscard]] std::string default_memory_folder();

}  // namespace headway::cli
