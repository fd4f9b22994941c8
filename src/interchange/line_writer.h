// Events back into the JSON-lines grammar (docs/formats/events.md). What is written here reads back
// as the same event. Pure; any thread.
#pragma once

#include <string>

#include "event/event.h"
#include "interchange/shown_names.h"

namespace headway::interchange {

// Appends one line with its "\n". `facts` adds host and world size: once per stream is enough.
// Events that only journals have (names, anchors) and times out of range append nothing: false.
bool append_line(std::string& out, const event::StreamInfo& info, const event::Event& event,
                 const ShownNames& names, bool facts);

}  // namespace headway::interchange
