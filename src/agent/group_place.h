// Where this machine's ranks stand among all ranks of a job. A plain value.
#pragma once

#include <string>

namespace headway::agent {

struct GroupPlace {
  int node_rank = 0;
  int nodes = 1;
  int first_rank = 0;  // of this machine
  int world_size = 1;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;
};

}  // namespace headway::agent
