// A TCP port for the group's rendezvous, fresh for every attempt.
//
// The socket stays bound, never listens and allows reuse: the kernel then gives the port to nobody
// who asks for "any", while rank 0's store, which sets SO_REUSEADDR as torch's does, may still bind
// and listen on it. Close-on-exec: ranks do not inherit it.
#pragma once

#include "base/file.h"
#include "base/status.h"

namespace headway::agent {

struct ReservedPort {
  base::UniqueFd socket;
  int port = 0;
};

base::Result<ReservedPort> reserve_port();

}  // namespace headway::agent
