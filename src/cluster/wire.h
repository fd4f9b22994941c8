// The bytes of the messages between agents: docs/formats/cluster.md. Pure; nothing is trusted:
// every length, number and word is checked against its named range before it is used, and a frame
// has to be used up to its last byte.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cluster/limits.h"
#include "cluster/message.h"

namespace headway::cluster {

// u32 bytes of the payload, u8 type, three bytes of zero.
inline constexpr std::size_t frame_header_bytes = 8;
inline constexpr std::size_t payload_bytes_max = 2'048;
inline constexpr std::size_t frame_bytes_max = frame_header_bytes + payload_bytes_max;

// May a message hold it? A log line or a variable of the environment is made of it later: no
// control characters. How long it may be is the field's own matter (limits.h).
[[nodiscard]] bool is_message_text(std::string_view text);

// Appends one frame. The message is one of ours: a field out of its range is a bug.
void append_frame(std::string& out, const Message& message);

// The message of one payload. Of a Hello or Greet of another version only `version` is read: the
// rest of it is that version's own matter.
base::Result<Message> decode_payload(unsigned type, std::string_view payload);

// Cuts a stream of bytes into messages. Holds at most frame_bytes_max + what one feed brought.
class FrameReader {
 public:
  void feed(std::string_view bytes) { pending_.append(bytes); }
  // True: `message` is the next one. False: more bytes are needed. An error is final: the bytes
  // after it have no meaning, and the connection is of no further use.
  base::Result<bool> next(Message& message);

 private:
  std::string pending_;
  std::size_t used_ = 0;  // of pending_
};

}  // namespace headway::cluster
