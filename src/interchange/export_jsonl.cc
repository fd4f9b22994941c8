#include "interchange/export_jsonl.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "interchange/line_writer.h"

namespace headway::interchange {

std::vector<const event::Stream*> in_rank_order(const event::JobStreams& job) {
  std::vector<const event::Stream*> streams;
  for (const event::Stream& s : job.streams) streams.push_back(&s);
  std::stable_sort(streams.begin(), streams.end(),
                   [](const event::Stream* x, const event::Stream* y) {
                     return std::tie(x->info.attempt, x->info.rank, x->info.origin) <
                            std::tie(y->info.attempt, y->info.rank, y->info.origin);
                   });
  return streams;
}

base::Result<ExportCounts> export_jsonl(const event::JobStreams& job, OutFile& out,
                                        const TextRule& rule) {
  HW_CHECK(job.names != nullptr);
  const ShownNames names(*job.names, rule);
  ExportCounts counts;
  for (const event::Stream* stream : in_rank_order(job)) {
    const auto source = stream->open();
    if (source == nullptr) {
      ++counts.streams_gone;
      continue;
    }
    bool facts = true;  // host and world size: with the first line
    for (auto batch = source->next(); !batch.empty(); batch = source->next()) {
      for (const event::Event& e : batch) {
        const bool told = append_line(out.buffer(), stream->info, e, names, facts);
        ++(told ? counts.events : counts.left_out);
        facts = facts && !told;
      }
      out.flush_some();
      if (!out.status().ok()) return out.status();
    }
  }
  return counts;
}

}  // namespace headway::interchange
