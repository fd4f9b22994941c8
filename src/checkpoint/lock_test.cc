#include "checkpoint/lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "base/temp_dir.h"

namespace headway::checkpoint {
namespace {

TEST(FolderLock, TheSecondOneIsToldWhoHoldsIt) {
  const base::TempDir dir;
  {
    const auto first = FolderLock::take(dir.path(), "a trainer");
    ASSERT_TRUE(first.ok()) << first.status().message();
    const auto second = FolderLock::take(dir.path(), "prune");
    ASSERT_FALSE(second.ok());
    const std::string wanted = "in use by a trainer, pid " + std::to_string(::getpid()) + " on ";
    EXPECT_NE(second.status().message().find(wanted), std::string::npos)
        << second.status().message();
  }
  EXPECT_TRUE(FolderLock::take(dir.path(), "prune").ok()) << "it was let go";
}

TEST(FolderLock, GoesWithItsOwner) {
  const base::TempDir dir;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool taken = FolderLock::take(dir.path(), "a child").ok();
    ::_exit(taken ? 0 : 1);  // without letting go
  }
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  EXPECT_TRUE(FolderLock::take(dir.path(), "the parent").ok());
}

// A trainer forks while it saves: the workers of a loader.
TEST(FolderLock, IsNoneOfItsOwnersChildren) {
  const base::TempDir dir;
  auto lock = std::make_optional(FolderLock::take(dir.path(), "a trainer"));
  ASSERT_TRUE(lock->ok());
  const pid_t forgets = ::fork();
  if (forgets == 0) {
    const bool thinks_it_has_it = (*lock)->is_at(dir.path());
    lock.reset();
    ::_exit(thinks_it_has_it ? 1 : 0);
  }
  int state = 0;
  ASSERT_EQ(::waitpid(forgets, &state, 0), forgets);
  EXPECT_EQ(state, 0) << "a child has no lock of its parent's";
  EXPECT_FALSE(FolderLock::take(dir.path(), "another").ok()) << "a child does not give it back";
  const pid_t stays = ::fork();
  if (stays == 0) {
    ::pause();
    ::_exit(0);
  }
  lock.reset();
  EXPECT_TRUE(FolderLock::take(dir.path(), "another").ok()) << "nor does it keep it";
  ::kill(stays, SIGKILL);
  ASSERT_EQ(::waitpid(stays, &state, 0), stays);
}

TEST(FolderLock, OneThatIsNotThere) {
  EXPECT_FALSE(FolderLock::take("/nowhere/at/all", "x").ok());
}

TEST(FolderLock, FollowsNoLink) {
  const base::TempDir dir;
  const std::string target = dir.write("target", "mine");
  ASSERT_EQ(::symlink(target.c_str(), (dir.path() + "/.lock").c_str()), 0);
  EXPECT_FALSE(FolderLock::take(dir.path(), "x").ok());
  std::ifstream file(target);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "mine");
}

}  // namespace
}  // namespace headway::checkpoint
