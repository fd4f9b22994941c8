#include "agent/auto_dynamic.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"

namespace headway::agent {
namespace {

// A job of which something is remembered, in a file that is damaged.
struct Stage {
  Stage() {
    options.auto_dynamic = true;
    options.command = {"train.py"};
    memory.write("jobs/.dynamic/" + family_file(options), "{");
  }
  // What is said when an attempt begins.
  std::string said_at_begin(DynamicRole role) {
    testing::internal::CaptureStderr();
    Console console(false);
    AutoDynamic dynamic(options, environment, console);
    dynamic.open(memory.path() + "/jobs", role);
    AgentJournal journal;
    const std::string agreed = "+L['x']:0";
    dynamic.begin(memory.path() + "/attempt", {}, &agreed, journal);
    dynamic.set(environment);
    console.err().flush();
    return testing::internal::GetCapturedStderr();
  }
  RunOptions options;
  Environment environment;
  base::TempDir memory;
};

TEST(AutoDynamic, WhoFollowsDoesAsItIsToldAndReadsNothing) {
  Stage stage;
  EXPECT_EQ(stage.said_at_begin(DynamicRole::follows), "");
  EXPECT_EQ(stage.environment.at("TORCH_COMPILE_DYNAMIC_SOURCES"), "L['x']:0");
}

TEST(AutoDynamic, WhoLeadsSaysThatItCannotReadWhatIsRemembered) {
  Stage stage;
  EXPECT_NE(stage.said_at_begin(DynamicRole::leads).find("begins anew"), std::string::npos);
}

}  // namespace
}  // namespace headway::agent
