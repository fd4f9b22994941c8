// A job as JSON lines of the import grammar: reading them back gives the same partition.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "event/stream.h"
#include "interchange/out_file.h"
#include "interchange/shown_names.h"

namespace headway::interchange {

struct ExportCounts {
  std::uint64_t events = 0;
  std::uint64_t left_out = 0;      // could not be expressed: unknown types, times out of range
  std::uint64_t streams_gone = 0;  // files that vanished since the input was listed
};

// The job's streams by attempt and rank, so that the order of files does not show.
std::vector<const event::Stream*> in_rank_order(const event::JobStreams& job);

// Streams: holds one batch of events and the output's buffer. `rule`: what of each text is written;
// the names of the job and of hosts are written as they are.
base::Result<ExportCounts> export_jsonl(const event::JobStreams& job, OutFile& out,
                                        const TextRule& rule = {});

}  // namespace headway::interchange
