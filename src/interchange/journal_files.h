// Finds out what journals say about themselves and makes streams of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "event/stream.h"

namespace headway::interchange {

struct JournalFile {
  std::string path;
  event::StreamInfo info;
};

// By its first bytes.
bool is_journal(const std::string& path);

// The headers of all that can be read. A copy of a journal that is there already is left out (the
// longer one stays). A file that is not a journal, or a damaged one, becomes a line in `notes`.
std::vector<JournalFile> read_headers(const std::vector<std::string>& paths,
                                      std::vector<std::string>& notes);

// Every open() reads from the beginning to what is committed at that moment.
event::Stream journal_stream(const JournalFile& file, std::shared_ptr<event::NameTable> names);

}  // namespace headway::interchange
