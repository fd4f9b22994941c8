#include "agent/machine_evidence.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/temp_dir.h"

namespace headway::agent {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const failure::Classifier& classifier() {
  static const failure::Classifier kClassifier(
      failure::parse_rules(failure::builtin_rules_text(), "rules.toml").value());
  return kClassifier;
}

TEST(MachineEvidence, RecordsOfTheKernelsLog) {
  EXPECT_EQ(kernel_text("3,1201,88123456,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=4242\n"),
            "NVRM: Xid (PCI:0000:3b:00): 79, pid=4242");
  EXPECT_EQ(kernel_text("6,339,5140900,-,caller=T1;nvme0n1: p1; p2"), "nvme0n1: p1; p2");
  EXPECT_EQ(kernel_text(" SUBSYSTEM=pci"), std::nullopt);
  EXPECT_EQ(kernel_text(" DEVICE=+pci:0000:3b:00.0;x"), std::nullopt);
  EXPECT_EQ(kernel_text("no record; at all"), std::nullopt);
  EXPECT_EQ(kernel_text(""), std::nullopt);
}

TEST(MachineEvidence, WhereTheCounterIs) {
  EXPECT_THAT(oom_files("0::/user.slice/job_7/step_0\n", "/cg"),
              ElementsAre("/cg/user.slice/job_7/step_0/memory.events", "/cg/memory.events"));
  EXPECT_THAT(oom_files("0::/\n", "/cg"), ElementsAre("/cg/memory.events"));
  EXPECT_THAT(
      oom_files("12:cpu,cpuacct:/a\n4:memory:/docker/abc\n1:name=systemd:/a\n0::/a\n", "/cg"),
      ElementsAre("/cg/memory/docker/abc/memory.oom_control", "/cg/memory/memory.oom_control",
                  "/cg/a/memory.events", "/cg/memory.events"));
  EXPECT_THAT(oom_files("rubbish\n:\n", "/cg"), IsEmpty());
}

TEST(MachineEvidence, TheCount) {
  EXPECT_EQ(oom_kills_of("low 0\nhigh 0\nmax 51\noom 3\noom_kill 2\noom_group_kill 0\n"), 2u);
  EXPECT_EQ(oom_kills_of("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 7u);
  EXPECT_EQ(oom_kills_of("oom_kill_disable 0\nunder_oom 0\n"), std::nullopt);
  EXPECT_EQ(oom_kills_of("oom_kill many"), std::nullopt);
}

// A machine in a folder. A plain file stands for the kernel's log.
struct Machine {
  Machine() {
    dir.write("kmsg", "3,1,1,-;NVRM: Xid (PCI:0000:3b:00): 48, before the attempt\n");
    dir.write("proc/self/cgroup", "0::/job\n");
    kills(4);
  }
  void kills(int count) const {
    dir.write("cgroup/job/memory.events", "oom 9\noom_kill " + std::to_string(count) + "\n");
  }
  void log(const std::string& text) const {
    std::ofstream(dir.path() + "/kmsg", std::ios::app) << text;
  }
  [[nodiscard]] MachineRoots roots() const {
    return {dir.path() + "/kmsg", dir.path() + "/proc", dir.path() + "/cgroup"};
  }
  base::TempDir dir;
};

TEST(MachineEvidence, WhatHappenedSinceTheBeginning) {
  const Machine machine;
  MachineEvidence evidence(machine.roots());
  evidence.begin();
  EXPECT_THAT(evidence.collect(classifier()), IsEmpty());
  machine.log("6,2,2,-;usb 1-1: new device\n SUBSYSTEM=usb\n");
  machine.log("3,3,3,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n");
  machine.kills(6);
  EXPECT_THAT(evidence.collect(classifier()),
              ElementsAre("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
                          "cgroup oom_kill=2"));
  EXPECT_THAT(evidence.notes(), IsEmpty());
  EXPECT_THAT(evidence.collect(classifier()), IsEmpty()) << "each thing once";
  machine.kills(7);
  evidence.begin();
  EXPECT_THAT(evidence.collect(classifier()), IsEmpty()) << "the next attempt";
}

TEST(MachineEvidence, ANeighboursDeathIsNotOurs) {
  const Machine machine;
  std::filesystem::create_directory(machine.dir.path() + "/proc/self/ns");
  const std::string space = machine.dir.path() + "/proc/self/ns/pid";
  std::filesystem::create_symlink("pid:[4026531836]", space);
  MachineEvidence evidence(machine.roots());
  evidence.begin();
  const std::string oom = "Out of memory: Killed process 77 (python) total-vm:9kB, anon-rss:9kB";
  const std::string xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=77, name=python";
  const auto happen = [&] { machine.log("3,3,3,-;" + oom + "\n3,4,4,-;" + xid + "\n"); };
  happen();
  EXPECT_THAT(evidence.collect(classifier(), {5, 6}), IsEmpty());
  EXPECT_THAT(evidence.notes(), ElementsAre(HasSubstr("2 lines about other jobs")));
  happen();
  EXPECT_THAT(evidence.collect(classifier(), {5, 77}), ElementsAre(oom, xid));
  happen();
  machine.kills(5);
  EXPECT_THAT(evidence.collect(classifier(), {5, 6}), ElementsAre(oom, "cgroup oom_kill=1"))
      << "a worker of ours, whose number nobody knows";
  std::filesystem::remove(space);
  happen();
  EXPECT_THAT(evidence.collect(classifier(), {5, 6}), ElementsAre(xid))
      << "in a container the numbers are others";
}

TEST(MachineEvidence, TooMuchIsCounted) {
  const Machine machine;
  MachineEvidence evidence(machine.roots());
  evidence.begin();
  std::string text;
  for (int i = 0; i < 300; ++i) text += "3,5,5,-;NVRM: Xid (PCI:0000:3b:00): 79, again\n";
  machine.log(text);
  EXPECT_EQ(evidence.collect(classifier()).size(), MachineEvidence::kernel_lines_max);
  ASSERT_FALSE(evidence.notes().empty());
  EXPECT_THAT(evidence.notes().back(), HasSubstr("more lines"));
}

TEST(MachineEvidence, WhatMayNotBeReadIsNoted) {
  const base::TempDir empty;
  MachineEvidence evidence({empty.path() + "/kmsg", empty.path() + "/proc", empty.path()});
  evidence.begin();
  EXPECT_THAT(evidence.notes(), Contains(HasSubstr("/kmsg: No such file")));
  EXPECT_THAT(evidence.notes(), Contains(HasSubstr("self/cgroup")));
  EXPECT_THAT(evidence.collect(classifier()), IsEmpty());
  empty.write("proc/self/cgroup", "0::/nowhere\n");
  evidence.begin();
  EXPECT_THAT(evidence.notes(), Contains(HasSubstr("no counter")));
}

TEST(MachineEvidence, ThisMachineNeverBlocksAndNeverFails) {
  MachineEvidence evidence;
  evidence.begin();
  for (const std::string& note : evidence.notes()) std::printf("note: %s\n", note.c_str());
  (void)evidence.collect(classifier());
}

// A cgroup of its own in the real hierarchy, with a limit, gone at the end.
class SmallCgroup {
 public:
  SmallCgroup() {
    const std::string name = "headway-test-" + std::to_string(::getpid());
    const std::string limits[][3] = {
        {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "4:memory:/"},
        {"/sys/fs/cgroup", "memory.max", "0::/"}};
    for (const auto& [root, limit, line] : limits) {
      path_ = root + "/" + name;
      if (::mkdir(path_.c_str(), 0755) != 0) continue;
      if (write(limit, "25165824")) {
        write("memory.swap.max", "0");
        proc_line = line + name + "\n";
        return;
      }
      ::rmdir(path_.c_str());
    }
    path_.clear();
  }
  ~SmallCgroup() {
    if (!path_.empty()) ::rmdir(path_.c_str());
  }
  [[nodiscard]] bool made() const { return !path_.empty(); }
  bool write(const std::string& name, const char* text) const {
    const int fd = ::open((path_ + "/" + name).c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool written = ::write(fd, text, std::strlen(text)) > 0;
    ::close(fd);
    return written;
  }
  std::string proc_line;

 private:
  std::string path_;
};

// The real thing: a process is killed by the kernel for want of memory, and the evidence of it
// leads to the verdict.
TEST(MachineEvidence, ARealDeathForWantOfMemory) {
  const SmallCgroup cgroup;
  if (!cgroup.made()) GTEST_SKIP() << "no cgroup with a memory limit can be made here";
  const base::TempDir dir;
  dir.write("proc/self/cgroup", cgroup.proc_line);
  MachineRoots roots;
  roots.proc = dir.path() + "/proc";
  MachineEvidence machine(roots);
  machine.begin();
  const pid_t child = ::fork();
  if (child == 0) {
    if (!cgroup.write("cgroup.procs", "0")) ::_exit(3);
    constexpr std::size_t bytes = 256 << 20;
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ::_exit(4);
    std::memset(memory, 1, bytes);
    ::_exit(5);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (!WIFSIGNALED(status))
    GTEST_SKIP() << "the limit did not hold, exit code " << WEXITSTATUS(status);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  failure::Evidence evidence;
  evidence.exits = {{0, 0, SIGKILL}};
  evidence.kernel = machine.collect(classifier());
  EXPECT_THAT(evidence.kernel, Contains("cgroup oom_kill=1"));
  for (const std::string& line : evidence.kernel) std::printf("kernel: %s\n", line.c_str());
  const failure::Verdict verdict = classifier().classify(evidence);
  EXPECT_EQ(verdict.category, "host_oom");
  EXPECT_EQ(verdict.rank, 0);
}

}  // namespace
}  // namespace headway::agent
