#include "cli/doctor_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>

#include "cli/doctor_probe.h"
#include "cli/doctor_python.h"

namespace headway::cli {
namespace {

using ::testing::HasSubstr;

MachineFacts healthy() {
  MachineFacts facts;
  facts.kernel = "6.1.0 x86_64";
  facts.invariant_tsc = true;
  facts.clock_source = "tsc";
  facts.jobs = {"/jobs", 0, 0, "ext4", 100ull << 30};
  facts.shm_bytes = 8ull << 30;
  facts.memory_bytes = 16ull << 30;
  facts.core_pattern = "core";
  facts.clock_synchronised = true;
  facts.open_files_max = 65536;
  facts.python = {"python3", "", "/usr/bin/python3", 3, 11, "2.13.0", ""};
  return facts;
}

Finding find(const std::vector<Finding>& findings, const std::string& check) {
  for (const Finding& finding : findings) {
    if (finding.check == check) return finding;
  }
  return {check, Level::problem, "no such check", ""};
}

TEST(Doctor, AHealthyMachineHasOnlyOkLines) {
  const auto findings = diagnose(healthy());
  EXPECT_EQ(findings.size(), 16u);
  EXPECT_FALSE(has_problem(findings));
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.level, Level::ok) << finding.check << ": " << finding.found;
    EXPECT_EQ(finding.next, "") << finding.check;
    EXPECT_NE(finding.found, "") << finding.check;
  }
}

struct Case {
  const char* check;
  Level level;
  const char* found;
  std::function<void(MachineFacts&)> spoil;
};

class DoctorCase : public ::testing::TestWithParam<Case> {};

TEST_P(DoctorCase, OneFaultGivesOneFindingWithANextStep) {
  MachineFacts facts = healthy();
  GetParam().spoil(facts);
  const auto findings = diagnose(facts);
  const Finding finding = find(findings, GetParam().check);
  EXPECT_EQ(finding.level, GetParam().level);
  EXPECT_THAT(finding.found, HasSubstr(GetParam().found));
  EXPECT_NE(finding.next, "");
  EXPECT_EQ(has_problem(findings), GetParam().level == Level::problem);
  for (const Finding& other : findings) {
    if (other.check != finding.check) {
      EXPECT_EQ(other.level, Level::ok) << other.check << ": " << other.found;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, DoctorCase,
    ::testing::Values(
        Case{"clock", Level::note, "no invariant tick counter",
             [](auto& f) { f.invariant_tsc = false; }},
        Case{"clock_sync", Level::note, "not synchronised",
             [](auto& f) { f.clock_synchronised = false; }},
        Case{"clock_sync", Level::note, "cannot tell",
             [](auto& f) { f.clock_synchronised.reset(); }},
        Case{"jobs_folder", Level::problem, "/jobs: Permission denied",
             [](auto& f) { f.jobs.write_error = EACCES; }},
        Case{"file_system", Level::note, "nfs", [](auto& f) { f.jobs.file_system = "nfs"; }},
        Case{"file_system", Level::note, "memory", [](auto& f) { f.jobs.file_system = "tmpfs"; }},
        Case{"file_system", Level::note, "container",
             [](auto& f) { f.jobs.file_system = "overlay"; }},
        Case{"free_space", Level::problem, "1.0 MiB", [](auto& f) { f.jobs.free_bytes = 1 << 20; }},
        Case{"free_space", Level::note, "512.0 MiB",
             [](auto& f) { f.jobs.free_bytes = 512 << 20; }},
        Case{"fallocate", Level::note, "not supported",
             [](auto& f) { f.jobs.fallocate_error = EOPNOTSUPP; }},
        Case{"shared_memory", Level::note, "no /dev/shm", [](auto& f) { f.shm_bytes.reset(); }},
        Case{"shared_memory", Level::note, "64.0 MiB", [](auto& f) { f.shm_bytes = 64 << 20; }},
        Case{"pidfd", Level::problem, "not implemented", [](auto& f) { f.pidfd_error = ENOSYS; }},
        Case{"ptrace", Level::note, "scope 1", [](auto& f) { f.ptrace_scope = 1; }},
        Case{"memory", Level::note, "limited to 2.0 GiB of 16.0 GiB",
             [](auto& f) { f.memory_limit_bytes = 2ull << 30; }},
        Case{"core_dumps", Level::note, "core", [](auto& f) { f.core_limit_zero = false; }},
        Case{"core_dumps", Level::note, "|/bin/x", [](auto& f) { f.core_pattern = "|/bin/x"; }},
        Case{"open_files", Level::note, "256", [](auto& f) { f.open_files_max = 256; }},
        Case{"python", Level::problem, "too old", [](auto& f) { f.python.minor = 9; }},
        Case{"torch", Level::note, "not installed", [](auto& f) { f.python.torch.clear(); }},
        Case{"hook", Level::problem, "ImportError: no",
             [](auto& f) { f.python.hook_error = "ImportError: no"; }}));

TEST(Doctor, WithoutPythonTorchAndHookAreNotJudged) {
  MachineFacts facts = healthy();
  facts.python = {};
  facts.python.command = "python3";
  facts.python.error = "not found";
  const auto findings = diagnose(facts);
  EXPECT_EQ(find(findings, "python").level, Level::problem);
  EXPECT_THAT(find(findings, "torch").found, HasSubstr("not checked"));
  EXPECT_THAT(find(findings, "hook").found, HasSubstr("not checked"));
}

TEST(Doctor, AnUnlimitedCgroupIsNoLimit) {
  MachineFacts facts = healthy();
  facts.memory_limit_bytes = ~0ull;
  EXPECT_EQ(find(diagnose(facts), "memory").level, Level::ok);
}

TEST(DoctorPython, ReadsAnAnswer) {
  PythonFacts facts;
  read_python_answer(
      "noise\nexecutable=/a=b/python3\nmajor=3\nminor=12\ntorch=2.13.0+cpu\nhook_error=", facts);
  EXPECT_EQ(facts.error, "");
  EXPECT_EQ(facts.executable, "/a=b/python3");
  EXPECT_EQ(facts.minor, 12);
  EXPECT_EQ(facts.torch, "2.13.0+cpu");
  EXPECT_EQ(facts.hook_error, "");
}

TEST(DoctorPython, AnEmptyAnswerIsAnError) {
  PythonFacts facts;
  read_python_answer("", facts);
  EXPECT_EQ(facts.error, "gave no answer");
}

TEST(DoctorProbe, AnUnusableJobsFolderIsReportedNotMade) {
  const MachineFacts facts = probe_machine("/proc/headway-cannot-be-here");
  EXPECT_NE(facts.jobs.write_error, 0);
  EXPECT_NE(facts.kernel, "");
  EXPECT_GT(facts.memory_bytes, 0u);
  EXPECT_GT(facts.open_files_max, 0u);
}

}  // namespace
}  // namespace headway::cli
