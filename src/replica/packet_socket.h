// Local sockets that keep packets apart. No call waits unless its name says so.
#pragma once

#include <string>

#include "base/file.h"
#include "base/status.h"
#include "replica/message.h"

namespace headway::replica {

base::Result<base::UniqueFd> listen_at(const std::string& path);
base::Result<base::UniqueFd> connect_to(const std::string& path);
// None is waiting: an invalid descriptor.
[[nodiscard]] base::UniqueFd accept_from(int listener);

// False: the other side is gone, or does not read.
[[nodiscard]] bool send_packet(int socket, const Message& message);

enum class Received { packet, nothing, closed, garbage };
[[nodiscard]] Received receive_packet(int socket, Message& message);

}  // namespace headway::replica
