// What the tests of this folder share: a folder that goes away, and streams as text.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/temp_dir.h"
#include "event/stream.h"
#include "interchange/line_writer.h"

namespace headway::interchange {

using base::TempDir;

inline std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Every event of a job as lines, by attempt and rank.
inline std::string lines_of(const event::JobStreams& job) {
  std::string out;
  for (const auto& stream : job.streams) {
    const auto source = stream.open();
    for (auto batch = source->next(); !batch.empty(); batch = source->next()) {
      for (const auto& e : batch) append_line(out, stream.info, e, *job.names, false);
    }
  }
  return out;
}

}  // namespace headway::interchange
