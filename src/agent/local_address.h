// Is this host's address one of this machine's? Asks the name service, once, at the start.
#pragma once

#include <string>

namespace headway::agent {

bool is_local_address(const std::string& host);
std::string machine_name();

}  // namespace headway::agent
