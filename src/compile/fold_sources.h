// What a process's compilations take, gathered while its log is folded (trace_fold.h). One thread.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "compile/compile_log.h"

namespace headway::compile {

class FoldSources {
 public:
  void take_guards(std::string_view payload, std::int32_t frame);
  // Torch prints all of it every time: the last one is what counts.
  void take_state(std::string_view text);
  void finish(ProcessLog& log);

 private:
  std::set<std::tuple<std::string, bool, std::int32_t>, std::less<>> uses_;
  std::vector<StateSource> state_;
  std::uint64_t left_out_ = 0;
};

}  // namespace headway::compile
