#include "base/start_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/file.h"
#include "base/temp_dir.h"

namespace headway::base {
namespace {

int end_of(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string text_of(const std::string& path) {
  auto text = read_file(path, 1 << 16);
  return text.ok() ? *text : text.status().message();
}

TEST(StartProcess, OutputGoesWhereItIsTold) {
  const TempDir dir;
  dir.write("out", "older\n");
  dir.write("err", "older\n");
  ProcessPlan plan{.argv = {"sh", "-c", "echo out; echo err >&2; cat; exit 7"}};
  plan.output = {dir.path() + "/out", true};
  plan.errors = {dir.path() + "/err"};
  auto pid = start_process(plan);
  ASSERT_TRUE(pid.ok()) << pid.status().message();
  EXPECT_EQ(end_of(*pid), 7);  // and its input was at its end
  EXPECT_EQ(text_of(dir.path() + "/out"), "older\nout\n");
  EXPECT_EQ(text_of(dir.path() + "/err"), "err\n");
}

TEST(StartProcess, OnlyNamedDescriptorsAreHanded) {
  const TempDir dir;
  const UniqueFd named(::open((dir.path() + "/named").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const UniqueFd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd high(::fcntl(named.get(), F_DUPFD_CLOEXEC, 20));
  const std::string script = "echo here >&5; [ ! -e /proc/$$/fd/" + std::to_string(other.get()) +
                             " ] || [ " + std::to_string(other.get()) + " = 5 ]";
  ProcessPlan plan{.argv = {"/bin/sh", "-c", script}};
  plan.descriptors = {{high.get(), 5}};
  auto pid = start_process(plan);
  ASSERT_TRUE(pid.ok());
  EXPECT_EQ(end_of(*pid), 0);
  EXPECT_EQ(text_of(dir.path() + "/named"), "here\n");
}

// Python's are closed on exec by themselves; a shell's, of flock(1) or a pipe, are not.
TEST(StartProcess, WhatWeInheritedItDoesNot) {
  const UniqueFd low(::open("/dev/null", O_RDONLY));
  const UniqueFd named(::fcntl(low.get(), F_DUPFD_CLOEXEC, 40));
  const UniqueFd between(::fcntl(low.get(), F_DUPFD, 21)), high(::fcntl(low.get(), F_DUPFD, 60));
  ASSERT_TRUE(between.valid() && high.valid());
  ProcessPlan plan{.argv = {"/bin/sh", "-c",
                            "[ -e /proc/$$/fd/" + std::to_string(25) + " ] && ! ls /proc/$$/fd/" +
                                std::to_string(low.get()) + " /proc/$$/fd/" +
                                std::to_string(between.get()) + " /proc/$$/fd/" +
                                std::to_string(high.get())}};
  plan.descriptors = {{named.get(), 25}};
  const TempDir dir;
  plan.output = {dir.path() + "/out"};
  auto pid = start_process(plan);
  ASSERT_TRUE(pid.ok());
  EXPECT_EQ(end_of(*pid), 0);
  EXPECT_EQ(text_of(dir.path() + "/out"), "") << "ls found one of them";
}

TEST(StartProcess, SignalsAreAsIfNobodyHadTouchedThem) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  const auto ignored = ::signal(SIGUSR1, SIG_IGN);
  auto by_term = start_process({.argv = {"sh", "-c", "kill -TERM $$; exit 3"}});
  auto by_usr1 = start_process({.argv = {"sh", "-c", "kill -USR1 $$; exit 3"}});
  ::signal(SIGUSR1, ignored);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  ASSERT_TRUE(by_term.ok() && by_usr1.ok());
  EXPECT_EQ(end_of(*by_term), -SIGTERM);
  EXPECT_EQ(end_of(*by_usr1), -SIGUSR1);
}

TEST(StartProcess, ASessionOfItsOwn) {
  ProcessPlan plan{.argv = {"sh", "-c", "[ $(ps -o sid= -p $$) = $$ ]"}};
  plan.own_session = true;
  auto pid = start_process(plan);
  ASSERT_TRUE(pid.ok());
  EXPECT_EQ(end_of(*pid), 0);
}

TEST(StartProcess, AProgramThatIsNotThereIsNamed) {
  auto pid = start_process({.argv = {"/no/such/program"}});
  ASSERT_FALSE(pid.ok());
  EXPECT_NE(pid.status().message().find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace headway::base
