// A job as Chrome trace JSON, which ui.perfetto.dev and chrome://tracing open: a process for each
// rank of each attempt, a thread for each lane, one for the steps (docs/formats/export.md).
#pragma once

#include "base/status.h"
#include "event/stream.h"
#include "interchange/export_jsonl.h"
#include "interchange/out_file.h"

namespace headway::interchange {

// Reads every stream twice: once for the earliest time (viewers keep times as doubles of
// microseconds, so they are told relative to it), once to write. Holds one batch.
base::Result<ExportCounts> export_perfetto(const event::JobStreams& job, OutFile& out,
                                           const TextRule& rule = {});

}  // namespace headway::interchange
