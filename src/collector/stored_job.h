// A job as a store has it: its journals as streams that can be read from their beginning, which say
// what the files themselves would have said. The store must outlive the streams. One thread at a
// time for all streams of a job.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/status.h"
#include "event/stream.h"
#include "record/slot_reader.h"
#include "store/store.h"

namespace headway::collector {

// Called when a stream is opened, with what decodes it: whoever reads the stream to its end can go
// on with that where the stored slots end.
using OnOpen =
    std::function<void(const store::JournalRow&, const std::shared_ptr<record::SlotReader>&)>;

// Of all attempts, or of one. Streams share `names`. What cannot be read later ends its stream, and
// its loss says so.
base::Result<event::JobStreams> stored_job(store::Store& store, const store::JobRow& job,
                                           std::shared_ptr<event::NameTable> names,
                                           const OnOpen& on_open = {},
                                           std::optional<std::uint64_t> only_attempt = {});

}  // namespace headway::collector
