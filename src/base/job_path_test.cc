#include "base/job_path.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace headway::base {
namespace {

TEST(JobPath, AcceptsFolderNamesAndRefusesTheRest) {
  for (const char* good : {"dlrm", "a", "_x", "7b.run-2", "a+b@c=d"}) {
    EXPECT_TRUE(is_job_name(good)) << good;
    EXPECT_TRUE(check_job_name(good).ok()) << good;
  }
  for (const char* bad :
       {"", ".", "..", "../x", "a/b", "a b", ".hidden", "-x", "a\nb", "\xc3\xa9"}) {
    EXPECT_FALSE(is_job_name(bad)) << bad;
    EXPECT_EQ(check_job_name(bad).code(), Code::invalid_input) << bad;
  }
  EXPECT_TRUE(is_job_name(std::string(job_name_bytes_max, 'a')));
  EXPECT_FALSE(is_job_name(std::string(job_name_bytes_max + 1, 'a')));
  EXPECT_FALSE(is_job_name(std::string_view("a\0b", 3)));
}

TEST(JobPath, SanitizeAlwaysGivesAName) {
  EXPECT_EQ(sanitize_job_name("train.py"), "train.py");
  EXPECT_EQ(sanitize_job_name("../a b"), "_._a_b");
  EXPECT_EQ(sanitize_job_name(""), "_");
  EXPECT_EQ(sanitize_job_name("-x"), "_x");
  EXPECT_TRUE(is_job_name(sanitize_job_name(std::string(1000, '/'))));
}

TEST(JobPath, LayoutOfFolders) {
  EXPECT_EQ(attempt_dir("/r", "j", 65537), "/r/j/65537");
  EXPECT_EQ(rank_journal_stem(0), "rank-00000");
  EXPECT_EQ(rank_journal_stem(123456), "rank-123456");
  EXPECT_EQ(agent_journal_stem("node/1"), "agent-node_1");
}

TEST(JobPath, RootFollowsTheEnvironment) {
  ::setenv("HEADWAY_DIR", "/h", 1);
  EXPECT_EQ(jobs_root().value(), "/h");
  ::unsetenv("HEADWAY_DIR");
  ::setenv("XDG_STATE_HOME", "/s", 1);
  EXPECT_EQ(jobs_root().value(), "/s/headway");
  ::setenv("XDG_STATE_HOME", "relative", 1);  // the XDG rules say: ignore it
  ::setenv("HOME", "/home/u", 1);
  EXPECT_EQ(jobs_root().value(), "/home/u/.local/state/headway");
  ::unsetenv("XDG_STATE_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(jobs_root().status().code(), Code::not_found);
}

}  // namespace
}  // namespace headway::base
