#include "base/source_path.h"

namespace headway::base {

std::string source_path(const std::string& below) {
  return HEADWAY_SOURCE_DIR "/" + below;
}

}  // namespace headway::base
