// A job as a set of streams, each of which can be opened anew: the attribution reads twice, a cheap
// prescan and the real pass. Made by src/interchange (files) and by the collector (stored
// journals). The order of `streams` says nothing; a consumer must not depend on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "event/event.h"

namespace headway::event {

// One (attempt, rank) of a job as one journal or one file tells it. Several streams may describe
// the same (attempt, rank): a journal and an imported file beside it. Every call of open() starts
// at the beginning; it may return nullptr when the file went away in between. Sources of one job
// share its NameTable and are therefore used by one thread at a time.
struct Stream {
  StreamInfo info;
  std::function<std::unique_ptr<EventSource>()> open;
};

struct JobStreams {
  std::string job;
  std::shared_ptr<NameTable> names;
  std::vector<Stream> streams;
  std::uint64_t duplicates_dropped = 0;  // identical lines
  std::uint64_t bad_lines = 0;           // skipped because the caller asked for it
  std::uint64_t unknown_keys = 0;        // distinct keys of lines that have no meaning here
  std::vector<std::string> notes;        // one line each, for a person: files left out and why
};

}  // namespace headway::event
