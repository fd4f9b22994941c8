// A job as CSV (RFC 4180): one row for each span, step, mark and so on (docs/formats/export.md).
#pragma once

#include "base/status.h"
#include "event/stream.h"
#include "interchange/export_jsonl.h"
#include "interchange/out_file.h"

namespace headway::interchange {

base::Result<ExportCounts> export_csv(const event::JobStreams& job, OutFile& out,
                                      const TextRule& rule = {});

}  // namespace headway::interchange
