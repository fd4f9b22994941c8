#include "compile/event_copy.h"

#include "compile/dom.h"
#include "compile/trace_reader.h"

namespace headway::compile {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

}  // namespace

base::Result<std::uint64_t> copy_events(const std::string& path,
                                        const std::function<bool(std::string_view)>& sink) {
  auto reader = TraceReader::open(path);
  if (!reader.ok()) return reader.status();
  TraceRecord record;
  dom::parser parser;
  std::string piece = "[";
  std::uint64_t count = 0;
  while (reader->next(record)) {
    if (record.envelope.type != "chromium_event") continue;
    dom::element event;
    // One that is not whole would spoil the file for all of them.
    if (!dom::parse(parser, record.payload, event) || !event.is_object()) continue;
    piece += count++ == 0 ? "\n" : ",\n";
    for (const char c : record.payload) {  // tabs and line breaks inside of texts are escaped
      if (c != '\t' && c != '\n') piece += c;
    }
    if (piece.size() < kPieceBytes) continue;
    if (!sink(piece)) return count;
    piece.clear();
  }
  if (!reader->status().ok()) return reader->status();
  piece += "\n]\n";
  (void)sink(piece);
  return count;
}

}  // namespace headway::compile
