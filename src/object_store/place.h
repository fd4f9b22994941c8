// "s3://bucket/prefix" as a person writes it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::object_store {

struct Place {
  std::string bucket;
  std::string prefix;  // without a slash at either end; empty: the whole bucket
};

[[nodiscard]] inline bool is_place(std::string_view text) {
  return text.starts_with("s3://");
}
base::Result<Place> parse_place(const std::string& text);

}  // namespace headway::object_store
