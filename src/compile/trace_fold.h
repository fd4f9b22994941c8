// Folds the records of one log into what they say of each compilation (compile_log.h). Records may
// come in any order and any of them may be missing: everything is found by its compile id. One
// thread; the table of components may be shared by folds that run one after the other.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "compile/compile_log.h"
#include "compile/components.h"
#include "compile/trace_room.h"

namespace headway::compile {

class TraceFold {
 public:
  // `sources`, `room`: as TraceReadOptions has them. Without a room only compile_log.h's maxima are
  // bounds.
  TraceFold(std::string path, ComponentTable& components, bool sources = false,
            TraceRoom* room = nullptr);
  ~TraceFold();
  TraceFold(const TraceFold&) = delete;
  TraceFold& operator=(const TraceFold&) = delete;

  void add(const TraceRecord& record);
  ProcessLog finish(const TraceCounts& counts);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One log, read to its end. `progress`, where given, is told of bytes that were read.
base::Result<ProcessLog> fold_file(const std::string& path, TraceReadOptions options,
                                   ComponentTable& components,
                                   const std::function<void(std::uint64_t)>& progress = {});

}  // namespace headway::compile
