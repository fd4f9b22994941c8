#include "agent/options.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"

namespace headway::agent {
namespace {

RunOptions runs(const std::string& script) {
  RunOptions options;
  options.command = {script};
  return options;
}

TEST(Options, NumbersAndTimesAreRefusedInOneForm) {
  EXPECT_EQ(parse_nproc("4").value(), 4);
  EXPECT_EQ(parse_nproc("two").status().message(), "--nproc two: want 1 to 256");
  EXPECT_EQ(parse_nproc("99999999999").status().message(), "--nproc 99999999999: want 1 to 256");
  EXPECT_FALSE(parse_nproc("").ok());
  EXPECT_EQ(parse_grace("2m").value(), 120'000'000'000);
  EXPECT_EQ(parse_grace("0.25").value(), 250'000'000);
  EXPECT_EQ(parse_grace("61m").status().message(),
            "--grace 61m: want seconds from 0 to 3600, or a time: 90s, 2m");
  EXPECT_EQ(parse_lease("1.0004s").value(), 1'000'000'000);
  EXPECT_FALSE(parse_lease("0").ok());
}

TEST(Options, NothingIsImportedAheadOfAColdStart) {
  RunOptions options = runs("train.py");
  options.cold = true;
  EXPECT_TRUE(check_options(options).ok());
  options.preload = {"torch"};
  EXPECT_EQ(check_options(options).message(),
            "--preload: with --cold nothing is imported ahead; leave one of the two out");
  options.cold = false;
  EXPECT_TRUE(check_options(options).ok());
}

TEST(Options, AFolderIsAScriptIfItHasAMain) {
  const base::TempDir dir;
  EXPECT_EQ(check_options(runs(dir.path())).message(),
            dir.path() + ": a folder without __main__.py; name the script in it");
  RunOptions program = runs(dir.path());
  program.kind = CommandKind::program;
  EXPECT_TRUE(check_options(program).ok()) << "not ours to judge";
  dir.write("__main__.py", "");
  EXPECT_TRUE(check_options(runs(dir.path())).ok());
}

}  // namespace
}  // namespace headway::agent
