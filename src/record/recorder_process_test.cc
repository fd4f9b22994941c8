// The recorder against processes and disks: SIGKILL, fork, no space, limits.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <new>
#include <random>
#include <set>
#include <thread>

#include "record/test_util.h"

namespace {
std::atomic<int> g_fallocate_error{0};
}

// Stands in front of the C library's, so that a file system without it can be had anywhere.
extern "C" int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (const int error = g_fallocate_error.load()) {
    errno = error;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, length));
}

namespace headway::record {
namespace {

using event::EventType;

// Memory that a child shares with its parent.
template <typename T>
class Shared {
 public:
  Shared()
      : value_(new(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                          -1, 0)) T{}) {}
  ~Shared() { ::munmap(value_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T* operator->() { return value_; }
  T& operator*() { return *value_; }

 private:
  T* value_;
};

TEST(Process, EverythingCommittedBeforeSigkillIsReadBack) {
  const unsigned seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 8; ++round) {
    const TempDir dir;
    Shared<std::atomic<std::int64_t>> committed;
    const pid_t child = ::fork();
    if (child == 0) {
      if (init_in(dir.path()) != 0) ::_exit(1);
      for (std::int64_t i = 0;; ++i) {
        hw_step(i, i);
        committed->store(i + 1, std::memory_order_release);
        if (i % 64 == 0) ::sched_yield();
        if (stats().dropped > 0) ::_exit(2);
        if (i % 8192 == 0) wait_for_room(20000);
      }
    }
    const auto target = static_cast<std::int64_t>(random() % 60000);
    int status = 0;
    while (committed->load(std::memory_order_acquire) <= target) {
      ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "seed " << seed;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "seed " << seed;
    const std::int64_t count = committed->load();
    const auto j = read_journal(dir.path() + "/rank-00000.hwj");
    ASSERT_TRUE(j->status.ok()) << j->status.message();
    EXPECT_EQ(j->loss.damaged_records, 0u) << j->loss.note;
    EXPECT_LE(j->loss.uncommitted_records, 2u) << j->loss.note;  // at most one a thread
    ASSERT_GE(static_cast<std::int64_t>(j->events.size()), count) << "seed " << seed;
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(j->events[static_cast<std::size_t>(i)].a, i) << "seed " << seed;
    }
  }
}

TEST(Process, ForkedChildrenRecordIntoTheSameJournalOnLanesOfTheirOwn) {
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  const std::string path = hw_journal_path();
  ASSERT_TRUE(wait_for_room(30000));
  const std::uint16_t shared = hw_phase_id("shared by all");
  constexpr int kRecords = 3000;
  const auto write = [shared](int who) {
    const std::uint16_t own = hw_phase_id(("of process " + std::to_string(who)).c_str());
    for (int i = 0; i < kRecords; ++i) hw_step(who, i);
    hw_begin(own);
    hw_begin(shared);
  };
  const pid_t child = ::fork();
  if (child == 0) {
    write(1);
    const int grandchild = in_child([&write] {
      write(2);
      hw_shutdown();  // ends it for the grandchild alone
      hw_step(99, 0);
      return 0;
    });
    hw_step(1, kRecords);
    ::_exit(grandchild);
  }
  write(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  hw_step(0, kRecords);
  EXPECT_EQ(stats().active, 1u);
  EXPECT_EQ(stats().dropped, 0u);
  hw_shutdown();

  const auto j = read_journal(path);
  EXPECT_EQ(j->loss.note, "");
  std::map<std::int64_t, std::vector<std::int64_t>> steps;
  std::map<std::int64_t, std::set<std::uint16_t>> lanes;
  std::multiset<std::string> phases;
  for (const auto& e : j->events) {
    if (e.type == EventType::begin) {
      phases.insert(std::string(j->names.text(e.name)));
    } else {
      steps[e.a].push_back(e.b);
      lanes[e.a].insert(e.lane);
    }
  }
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].size(), kRecords + 1u);
  EXPECT_EQ(steps[1].size(), kRecords + 1u);
  EXPECT_EQ(steps[2].size(), kRecords + 0u);
  EXPECT_EQ(lanes[0], std::set<std::uint16_t>{0});
  EXPECT_EQ(lanes[1].size(), 1u);
  EXPECT_EQ(lanes[2].size(), 1u);
  EXPECT_NE(lanes[1], lanes[2]);
  EXPECT_EQ(phases.count("shared by all"), 3u);
  for (int who = 0; who < 3; ++who) {
    EXPECT_EQ(phases.count("of process " + std::to_string(who)), 1u);
  }
}

TEST(Process, AChildMayOutliveItsParentsRecorder) {
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  const std::string path = hw_journal_path();
  Shared<std::atomic<int>> stage;
  const pid_t child = ::fork();
  if (child == 0) {
    hw_step(1, 1);
    stage->store(1);
    while (stage->load() != 2) ::usleep(100);
    for (int i = 0; i < 100; ++i) hw_step(1, 2 + i);
    ::_exit(0);
  }
  while (stage->load() != 1) ::usleep(100);
  hw_shutdown();
  stage->store(2);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const auto j = read_journal(path);
  EXPECT_EQ(j->events.size(), 101u);
  EXPECT_EQ(j->loss.note, "");
}

TEST(Process, AChildMayBeginAJournalOfItsOwn) {
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  hw_step(0, 0);
#if !defined(__SANITIZE_THREAD__)  // which allows no threads after such a fork
  EXPECT_EQ(in_child([&dir] {
              if (init_in(dir.path(), 0, 5) != EALREADY) return 1;
              hw_shutdown();
              if (init_in(dir.path(), 0, 5) != 0) return 2;
              hw_step(5, 5);
              hw_shutdown();
              return 0;
            }),
            0);
  EXPECT_EQ(read_journal(dir.path() + "/rank-00005.hwj")->events.size(), 1u);
#endif
  hw_step(1, 1);
  hw_shutdown();
  EXPECT_EQ(read_journal(dir.path() + "/rank-00000.hwj")->events.size(), 2u);
}

// Forks while other threads intern names: a child must never find the table locked or half made.
TEST(Process, ForkingUnderFireNeverBlocksAChild) {
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  const std::string path = hw_journal_path();
  std::atomic<bool> stop{false};
  std::thread namer([&stop] {
    for (int i = 0; !stop.load() && i < 20000; ++i) {
      hw_name_id(("n" + std::to_string(i)).c_str());
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(in_child([] {
                ::alarm(20);
                return hw_name_id("n1") == 0 || hw_name_id("child") == 0 ? 1 : 0;
              }),
              0)
        << i;
  }
  stop.store(true);
  namer.join();
  hw_shutdown();
  EXPECT_EQ(read_journal(path)->loss.damaged_records, 0u);
}

// Fills a real, small file system. SIGBUS would kill the child.
TEST(Process, AFullDiskDropsAndCounts) {
  const TempDir dir;
  constexpr int kNoMount = 77;
  const int status = in_child([&dir] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      return kNoMount;
    }
    if (init_in(dir.path()) != 0) return 1;
    constexpr int kRecords = 200000;  // 6.4 MB
    for (int i = 0; i < kRecords; ++i) {
      hw_step(i, i);
      if (i % 2000 == 0) ::usleep(2000);
    }
    const hw_stats s = stats();
    const std::string path = hw_journal_path();
    if (s.dropped == 0 || s.records + s.dropped < kRecords) return 2;
    if (s.bytes > (1 << 20) || s.records < 20000) return 3;
    hw_shutdown();
    const auto j = read_journal(path);
    if (!j->status.ok() || j->loss.damaged_records != 0) return 4;
    if (j->events.size() + j->loss.dropped_records < kRecords) return 5;
    return j->events.size() >= 20000 ? 0 : 6;
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMount) {
    GTEST_SKIP() << "may not mount a file system here";
  }
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The default action of SIGXFSZ would kill the child.
TEST(Process, AFileSizeLimitIsObeyed) {
  const TempDir dir;
  const int status = in_child([&dir] {
    constexpr std::uint64_t kLimit = 300 * 1024;
    const rlimit limit{kLimit, kLimit};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    if (init_in(dir.path()) != 0) return 2;
    for (int i = 0; i < 20000; ++i) {
      hw_step(i, i);
      if (i % 2000 == 0) ::usleep(2000);
    }
    const hw_stats s = stats();
    if (s.dropped == 0 || s.bytes > kLimit) return 3;
    hw_shutdown();
    return 0;
  });
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Process, AFileSystemWithoutFallocateIsFilledWithZeros) {
  const TempDir dir;
  g_fallocate_error = EOPNOTSUPP;
  ASSERT_EQ(init_in(dir.path()), 0);
  const std::string path = hw_journal_path();
  EXPECT_TRUE(wait_for_room(60000));
  for (int i = 0; i < 20000; ++i) hw_step(i, i);
  hw_shutdown();
  g_fallocate_error = 0;
  const auto j = read_journal(path);
  EXPECT_EQ(j->events.size(), 20000u);
  EXPECT_EQ(j->loss.note, "");
}

TEST(Process, GrowthThatFailsIsTriedAgain) {
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path(), 0, 1), 0);
  hw_shutdown();
  ASSERT_EQ(init_in(dir.path()), 0);
  g_fallocate_error = ENOSPC;
  while (stats().dropped == 0) hw_step(0, 0);
  const std::uint64_t stuck = stats().bytes;
  g_fallocate_error = 0;
  EXPECT_TRUE(wait_for_room(1000));
  EXPECT_GT(stats().bytes, stuck);
  hw_step(1, 1);
  const std::string path = hw_journal_path();
  hw_shutdown();
  const auto j = read_journal(path);
  EXPECT_EQ(j->events.back().a, 1);
  EXPECT_EQ(j->loss.uncommitted_records, 0u);  // no hole where records were dropped
}

TEST(Process, NoDiskAtAllIsAnErrorAndNothingElse) {
  const TempDir dir;
  g_fallocate_error = ENOSPC;
  EXPECT_EQ(init_in(dir.path()), ENOSPC);
  g_fallocate_error = 0;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 0);
  hw_step(1, 1);
  EXPECT_EQ(stats().active, 0u);
  EXPECT_EQ(init_in(dir.path()), 0);
  hw_shutdown();
}

TEST(Process, LittleAddressSpaceMakesASmallerJournal) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve address space of their own";
#endif
  const TempDir dir;
  const int status = in_child([&dir] {
    const rlimit limit{600u << 20, 600u << 20};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    if (init_in(dir.path()) != 0) return 2;
    hw_step(1, 1);
    const std::string path = hw_journal_path();
    hw_shutdown();
    return read_journal(path)->events.size() == 1 ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace headway::record
