#include "cli/report_live.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/temp_dir.h"

namespace headway::cli {
namespace {

namespace fs = std::filesystem;

class Live : public testing::Test {
 protected:
  void SetUp() override {
    job_ = root_ + "/nightly";
    fs::create_directories(job_ + "/2");
    fs::create_directories(job_ + "/1");
  }

  void write_lock(const std::string& note) { std::ofstream(job_ + "/agent.lock") << note; }
  std::string own_host() {
    char name[256] = {};
    return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
  }
  base::UniqueFd hold() {
    base::UniqueFd fd(::open((job_ + "/agent.lock").c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_EQ(::flock(fd.get(), LOCK_EX | LOCK_NB), 0);
    return fd;
  }

  const base::TempDir dir_;
  const std::string& root_ = dir_.path();
  std::string job_;
};

TEST_F(Live, NoLockFileNoAgent) {
  EXPECT_FALSE(job_is_alive(job_));
}

TEST_F(Live, AliveWhileTheLockIsHeld) {
  write_lock("pid " + std::to_string(::getpid()) + " on " + own_host() + "\n");
  EXPECT_FALSE(job_is_alive(job_));
  {
    const base::UniqueFd held = hold();
    EXPECT_TRUE(job_is_alive(job_));
  }
  EXPECT_FALSE(job_is_alive(job_));
}

// A shared file system: the table of this machine's locks does not show another's.
TEST_F(Live, AnotherHostsLockIsTried) {
  write_lock("pid 1 on some-other-machine\n");
  EXPECT_FALSE(job_is_alive(job_));
  const base::UniqueFd held = hold();
  EXPECT_TRUE(job_is_alive(job_));
}

TEST_F(Live, LooksAtLockTableLines) {
  const auto shows = [](const char* line) { return shows_flock(line, 77, 0x801, 4711); };
  EXPECT_TRUE(shows("5: FLOCK  ADVISORY  WRITE 1 08:01:77 0 EOF"));
  EXPECT_TRUE(shows("5: FLOCK  ADVISORY  WRITE 4711 00:2a:77 0 EOF"));
  EXPECT_FALSE(shows("5: FLOCK  ADVISORY  WRITE 1 00:2a:77 0 EOF"));
  EXPECT_FALSE(shows("5: FLOCK  ADVISORY  WRITE 1 08:01:78 0 EOF"));
  EXPECT_FALSE(shows("5: FLOCK  ADVISORY  READ 1 08:01:77 0 EOF"));
  EXPECT_FALSE(shows("5: POSIX  ADVISORY  WRITE 1 08:01:77 0 EOF"));
  EXPECT_FALSE(shows("5: -> FLOCK  ADVISORY  WRITE 1 08:01:77 0 EOF"));  // only waits for it
  EXPECT_FALSE(shows(""));
}

TEST_F(Live, FindsTheJobsFolder) {
  EXPECT_EQ(folder_of_job(job_, "nightly"), "");  // no agent has ever run it
  write_lock("");
  std::ofstream(job_ + "/2/rank-00000.hwj") << "x";
  std::ofstream(job_ + "/2/lines.jsonl") << "x";
  EXPECT_EQ(folder_of_job(job_, "nightly"), job_);
  EXPECT_EQ(folder_of_job(root_, "nightly"), job_);
  EXPECT_EQ(folder_of_job(job_ + "/2", "nightly"), job_);
  EXPECT_EQ(folder_of_job(job_ + "/2/rank-00000.hwj", "nightly"), job_);
  EXPECT_EQ(folder_of_job(job_ + "/2/lines.jsonl", "nightly"), "");
  EXPECT_EQ(folder_of_job(job_, "weekly"), "");
  EXPECT_EQ(folder_of_job("-", "nightly"), "");
  EXPECT_EQ(folder_of_job(root_ + "/gone", "nightly"), "");
}

TEST_F(Live, OnlyTheNewestAttemptCanBeAlive) {
  event::JobStreams streams;
  streams.streams.resize(1);
  streams.streams[0].info.attempt = 1;
  EXPECT_FALSE(has_newest_attempt(streams, job_));
  streams.streams[0].info.attempt = 2;
  EXPECT_TRUE(has_newest_attempt(streams, job_));
  EXPECT_FALSE(has_newest_attempt({}, job_));
}

}  // namespace
}  // namespace headway::cli
