#include "replica/abandoned.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/clock.h"
#include "base/temp_dir.h"
#include "replica/holder.h"
#include "replica/packet_socket.h"

namespace headway::replica {
namespace {

TEST(Abandoned, OnlyWhatNobodyUsesAnyMoreGoes) {
  const base::TempDir dir;
  for (const char* name : {"dead", "agent", "held", "own"}) {
    dir.write(std::string(name) + "/lock", "");
    dir.write(std::string(name) + "/rank-00000.slot-0", "state");
  }
  dir.write("other/rank-00000.slot-0", "state");
  dir.write("other/notes.txt", "somebody's own");
  std::filesystem::create_directory(dir.path() + "/empty");
  const auto agent = listen_at(dir.path() + "/agent/holder.sock");
  ASSERT_TRUE(agent.ok());
  HolderOptions options;
  options.folder = dir.path() + "/held";
  options.listener.reset(::dup(agent.value().get()));  // it listens elsewhere: only its lock tells
  const auto holder = Holder::open(std::move(options));
  ASSERT_TRUE(holder.ok()) << holder.status().message();

  const std::int64_t now_ns = base::clock_ns(CLOCK_REALTIME);
  const std::string own = dir.path() + "/own";
  EXPECT_EQ(remove_abandoned(dir.path(), own, now_ns), 0) << "somebody may still come";
  EXPECT_EQ(remove_abandoned(dir.path(), own, now_ns + abandoned_after_ns + base::kNsPerSecond), 1);
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/dead"));
  for (const char* name : {"agent", "held", "own", "other", "empty"}) {
    EXPECT_TRUE(std::filesystem::exists(dir.path() + "/" + name)) << name;
  }
}

}  // namespace
}  // namespace headway::replica
