// One TCP connection that carries messages: non-blocking, both buffers bounded. Owns its socket.
// Single-threaded.
#pragma once

#include <cstddef>
#include <string>

#include "base/file.h"
#include "base/status.h"
#include "cluster/message.h"
#include "cluster/wire.h"

namespace headway::cluster {

class Link {
 public:
  // Who does not read for so long is not worth waiting for: messages are small and few.
  static constexpr std::size_t send_bytes_max = 64 * 1024;
  static constexpr std::size_t read_bytes_max = 16 * 1024;  // at once

  explicit Link(base::UniqueFd socket);

  [[nodiscard]] int fd() const { return socket_.get(); }
  // Queues; false if the peer has left too much unread.
  [[nodiscard]] bool send(const Message& message);
  // Writes what the socket takes; false if the connection is broken.
  [[nodiscard]] bool flush();
  [[nodiscard]] bool wants_to_write() const { return sent_ < out_.size(); }
  // Takes what is there; false if nothing will follow. Messages that came before can still be had.
  [[nodiscard]] bool read();
  base::Result<bool> next(Message& message) { return frames_.next(message); }
  // No more will be written, and what still comes is thrown away. The peer reads what was flushed,
  // then the end.
  void finish();

  // Without a port; "::ffff:" of an IPv4 address is taken off. Empty if not connected.
  [[nodiscard]] std::string own_address() const;
  [[nodiscard]] std::string peer_address() const;

 private:
  base::UniqueFd socket_;
  FrameReader frames_;
  std::string out_;
  std::size_t sent_ = 0;  // of out_
  bool finished_ = false;
};

// Small messages leave at once.
void set_no_delay(int socket);

}  // namespace headway::cluster
