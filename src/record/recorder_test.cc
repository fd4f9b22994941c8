// The C ABI in one process: what is called is what is read back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/clock.h"
#include "record/settings.h"
#include "record/test_util.h"

namespace headway::record {
namespace {

using event::EventType;

TEST(Recorder, EveryCallIsReadBack) {
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  EXPECT_EQ(init_in(dir.path()), EALREADY);
  const std::string path = hw_journal_path();
  EXPECT_EQ(path, dir.path() + "/rank-00000.hwj");

  const std::int64_t before_ns = base::real_ns();
  const std::uint16_t tokenise = hw_phase_id("tokenise");
  const std::uint16_t tier = hw_name_id("replica");
  const std::uint16_t reason = hw_name_id("NCCL watchdog: collective timed out after 600000 ms");
  EXPECT_EQ(hw_phase_id("compile"), HW_PHASE_COMPILE);
  EXPECT_GE(tokenise, HW_PHASE_USER_FIRST);
  EXPECT_EQ(hw_phase_id("tokenise"), tokenise);
  EXPECT_EQ(hw_phase_id(""), 0);
  EXPECT_EQ(hw_phase_id(nullptr), 0);
  hw_attr("family", "dlrm");
  hw_mark(HW_MARK_TRAINER_START);
  hw_begin(tokenise);
  hw_end(tokenise);
  hw_begin_at(HW_PHASE_IMPORTS, hw_now());
  hw_end_at(HW_PHASE_IMPORTS, hw_now());
  hw_begin(HW_PHASE_COMPILE);
  hw_end_compile(1);
  hw_step(7, 7168);
  hw_step_end(7, HW_NO_DATA);
  hw_checkpoint(7, 7168, HW_CHECKPOINT_DURABLE);
  hw_restore(5, 5120, tier);
  const std::uint64_t since = hw_now();
  hw_hang(since, 3);
  hw_device_done(7, hw_now());
  hw_mark_at(HW_MARK_PREEMPT_NOTICE, hw_now());
  hw_mark(HW_MARK_FAILURE);
  hw_mark_end(HW_MARK_EXIT, -1, 9, HW_ORIGIN_INFRA, 2, reason);
  const hw_stats s = stats();
  EXPECT_EQ(s.active, 1u);
  EXPECT_EQ(s.dropped, 0u);
  EXPECT_EQ(s.names, 5u);
  hw_shutdown();
  const std::int64_t after_ns = base::real_ns();

  const auto j = read_journal(path);
  ASSERT_TRUE(j->status.ok()) << j->status.message();
  EXPECT_EQ(j->loss.note, "");
  EXPECT_EQ(j->info.job, "test");
  EXPECT_EQ(j->info.host, "node1");
  EXPECT_EQ(j->info.world_size, 4u);
  const EventType want[] = {EventType::attr,     EventType::mark,        EventType::begin,
                            EventType::end,      EventType::begin,       EventType::end,
                            EventType::begin,    EventType::end,         EventType::step,
                            EventType::step_end, EventType::checkpoint,  EventType::restore,
                            EventType::hang,     EventType::device_done, EventType::mark,
                            EventType::mark,     EventType::mark};
  ASSERT_EQ(j->events.size(), std::size(want));
  for (std::size_t i = 0; i < std::size(want); ++i) {
    EXPECT_EQ(j->events[i].type, want[i]) << i;
    EXPECT_EQ(j->events[i].lane, 0) << i;
    // A millisecond for the calibration's error: the anchors have hardly begun to correct it.
    EXPECT_GE(j->events[i].t_ns, before_ns - 1'000'000) << i;
    EXPECT_LE(j->events[i].t_ns, after_ns + 1'000'000) << i;
    EXPECT_GE(j->events[i].t_ns, j->events[i == 0 ? 0 : i - 1].t_ns) << i;
  }
  const auto& e = j->events;
  EXPECT_EQ(j->names.text(e[0].name), "family");
  EXPECT_EQ(j->names.text(static_cast<event::NameId>(e[0].a)), "dlrm");
  EXPECT_EQ(j->names.text(e[2].name), "tokenise");
  EXPECT_EQ(e[7].a, 1);
  EXPECT_EQ(e[8].b, 7168);
  EXPECT_EQ(e[9].b, HW_NO_DATA);
  EXPECT_EQ(e[10].name, HW_CHECKPOINT_DURABLE);
  EXPECT_EQ(j->names.text(e[11].name), "replica");
  EXPECT_LE(e[12].a, e[12].t_ns);
  EXPECT_GE(e[12].a, before_ns - 1'000'000);
  EXPECT_EQ(e[12].b, 3);
  EXPECT_EQ(event::unpack_end(e[15].a, e[15].b).rank, HW_RANK_UNKNOWN);
  const event::EndInfo end = event::unpack_end(e[16].a, e[16].b);
  EXPECT_EQ(end.exit_code, -1);
  EXPECT_EQ(end.signal, 9);
  EXPECT_EQ(end.rank, 2u);
  EXPECT_EQ(j->names.text(end.reason), "NCCL watchdog: collective timed out after 600000 ms");
}

TEST(Recorder, ShutdownClosesAndCutsTheFile) {
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  const std::string path = hw_journal_path();
  for (int i = 0; i < 10; ++i) hw_step(i, i);
  hw_shutdown();
  hw_shutdown();
  EXPECT_EQ(stats().active, 0u);
  const auto size = std::filesystem::file_size(path);
  EXPECT_LT(size, event::kHeaderBytes + 40 * sizeof(event::Record));
  hw_step(11, 11);
  EXPECT_EQ(std::filesystem::file_size(path), size);
  event::NameTable names;
  auto reader = JournalReader::open(path, names);
  EXPECT_TRUE((*reader)->closed());
  EXPECT_EQ((*reader)->next().size(), 10u);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(Recorder, CallsOutsideOfARunDoNothing) {
  EXPECT_EQ(stats().active, 0u);
  hw_begin(1);
  hw_attr("a", "b");
  EXPECT_EQ(hw_name_id("x"), 0);
  EXPECT_EQ(hw_phase_id("eval"), HW_PHASE_EVAL);
  EXPECT_EQ(hw_ticks_from_monotonic_ns(1), 0u);
  hw_shutdown();
}

TEST(Recorder, NothingChangesErrno) {
  const TempDir dir;
  errno = 4711;
  ASSERT_EQ(init_in(dir.path()), 0);
  EXPECT_EQ(errno, 4711);
  hw_attr("k", "v");
  hw_begin(3);
  static_cast<void>(hw_ticks_from_monotonic_ns(5));
  EXPECT_EQ(errno, 4711);
  hw_shutdown();
  EXPECT_EQ(errno, 4711);
  EXPECT_GT(init_in("/proc/nowhere/x"), 0);
  EXPECT_EQ(errno, 4711);
  hw_options small{};
  small.struct_size = 4;
  EXPECT_EQ(hw_init(&small), EINVAL);
}

TEST(Recorder, ASecondJournalOfTheSameRankGetsANameOfItsOwn) {
  const TempDir dir;
  std::set<std::string> paths;
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(init_in(dir.path()), 0);
    hw_step(i, i);
    paths.insert(hw_journal_path());
    hw_shutdown();
  }
  EXPECT_EQ(paths.size(), 4u);
  EXPECT_TRUE(paths.count(dir.path() + "/rank-00000." + std::to_string(::getpid()) + ".hwj"));
  for (const auto& path : paths) EXPECT_EQ(read_journal(path)->events.size(), 1u) << path;
}

TEST(Recorder, NamesAreBoundedInLengthAndNumber) {
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  const std::string path = hw_journal_path();
  ASSERT_TRUE(wait_for_room(1000));
  std::string longest(event::kNameBytesMax - 1, 'a');
  hw_begin(hw_phase_id((longest + "\xc3\xa9tail").c_str()));  // the cut may not split a character
  hw_begin(hw_phase_id(std::string(24, 'b').c_str()));
  hw_begin(hw_phase_id(std::string(25, 'c').c_str()));
  std::uint16_t last = 0;
  for (int i = 0; i < 70000; ++i) {
    if (i % 20000 == 0) {
      ASSERT_TRUE(wait_for_room(30000));
    }
    last = hw_name_id(("n" + std::to_string(i)).c_str());
  }
  EXPECT_EQ(last, event::kOtherNameId);
  EXPECT_EQ(stats().names, 65535u - event::kOtherNameId);
  EXPECT_EQ(stats().names_dropped, 70000u - (65535u - event::kOtherNameId - 3));
  hw_begin(last);
  hw_shutdown();
  const auto j = read_journal(path);
  ASSERT_EQ(j->events.size(), 4u);
  EXPECT_EQ(j->names.text(j->events[0].name), longest);
  EXPECT_EQ(j->names.text(j->events[1].name), std::string(24, 'b'));
  EXPECT_EQ(j->names.text(j->events[2].name), std::string(25, 'c'));
  EXPECT_EQ(j->names.text(j->events[3].name), "~other");
  EXPECT_NE(j->loss.note.find("~other"), std::string::npos);
}

TEST(Recorder, AFullJournalDropsAndCounts) {
  const TempDir dir;
  constexpr std::uint64_t kSlots = 1000;
  ASSERT_EQ(init_in(dir.path(), event::kHeaderBytes + kSlots * 32), 0);
  const std::string path = hw_journal_path();
  for (int i = 0; i < 5000; ++i) hw_step(i, i);
  const hw_stats s = stats();
  EXPECT_EQ(s.records, kSlots);
  EXPECT_GE(s.dropped, 4000u);
  EXPECT_EQ(hw_name_id("late"), event::kOtherNameId);
  hw_shutdown();
  const auto j = read_journal(path);
  constexpr std::uint64_t kAnchorsMax = 8;  // that may have been written or dropped beside them
  EXPECT_LE(j->events.size(), kSlots);
  EXPECT_GE(j->events.size() + s.dropped, 5000u);
  EXPECT_LE(j->events.size() + s.dropped, 5000u + kAnchorsMax);
  EXPECT_NE(j->loss.note.find("HEADWAY_JOURNAL_MAX_BYTES"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path), event::kHeaderBytes + kSlots * 32);
}

TEST(Recorder, MonotonicTimesBecomeTicksAndComeBack) {
  const TempDir dir;
  const std::int64_t early_ns = base::monotonic_ns() - 2'000'000'000;
  const std::int64_t real_early_ns = early_ns + (base::real_ns() - base::monotonic_ns());
  ASSERT_EQ(init_in(dir.path()), 0);
  const std::string path = hw_journal_path();
  hw_begin_at(HW_PHASE_IMPORTS, hw_ticks_from_monotonic_ns(early_ns));
  const std::int64_t later_ns = base::monotonic_ns();
  hw_end_at(HW_PHASE_IMPORTS, hw_ticks_from_monotonic_ns(later_ns));
  hw_shutdown();
  const auto j = read_journal(path);
  ASSERT_EQ(j->events.size(), 2u);
  EXPECT_NEAR(static_cast<double>(j->events[0].t_ns - real_early_ns), 0, 1e6);
  EXPECT_NEAR(static_cast<double>(j->events[1].t_ns - j->events[0].t_ns),
              static_cast<double>(later_ns - early_ns), 1e6);
}

TEST(Recorder, FallsBackToTheMonotonicClock) {
  const TempDir dir;
  ::setenv("HEADWAY_CLOCK", "monotonic", 1);
  ASSERT_EQ(init_in(dir.path()), 0);
  ::unsetenv("HEADWAY_CLOCK");
  const std::string path = hw_journal_path();
  const std::int64_t before = base::monotonic_ns();
  hw_step(1, 1);
  const auto now = static_cast<std::int64_t>(hw_now());
  EXPECT_GE(now, before);
  hw_shutdown();
  event::NameTable names;
  auto reader = JournalReader::open(path, names);
  const auto& h = (*reader)->header();
  EXPECT_EQ(h.clock_kind, 0u);
  const auto events = (*reader)->next();
  ASSERT_EQ(events.size(), 1u);
  const std::int64_t offset = h.anchor_real_ns - h.anchor_monotonic_ns;
  EXPECT_GE(events[0].t_ns, before + offset);
  EXPECT_LE(events[0].t_ns, now + offset);
}

TEST(Recorder, AnAnchorOfThisBootFreezesRealTimeAndOthersDoNot) {
  base::RealAnchor anchor = base::take_real_anchor();
  anchor.real_ns += 3'600'000'000'000;  // an hour off, so that it shows
  for (const bool same_boot : {true, false}) {
    const TempDir dir;
    base::RealAnchor given = anchor;
    if (!same_boot) given.boot[0] ^= 1;
    ::setenv("HEADWAY_ANCHOR", base::to_text(given).c_str(), 1);
    ASSERT_EQ(init_in(dir.path()), 0);
    ::unsetenv("HEADWAY_ANCHOR");
    const std::string path = hw_journal_path();
    hw_step(1, 1);
    const std::int64_t real = base::real_ns();
    hw_shutdown();
    const auto j = read_journal(path);
    const double hours = static_cast<double>(j->events.at(0).t_ns - real) / 3.6e12;
    EXPECT_NEAR(hours, same_boot ? 1.0 : 0.0, 0.01);
    // The closing anchor shows the hour as a jump of real time, which is counted and not applied.
    EXPECT_EQ(j->loss.clock_jumps, same_boot ? 1u : 0u);
  }
}

// N threads, each record exactly once, each thread on one lane.
TEST(Recorder, ThreadsLoseNothing) {
  const unsigned seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  constexpr int kThreads = 4;
  constexpr int kRounds = 16;
  constexpr int kPerRound = 12000;
  constexpr int kRecords = kRounds * kPerRound;
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  const std::string path = hw_journal_path();
  // Each round begins at once, and in runs with nothing between two records: there reservations
  // meet. A busy machine lets threads overlap seldom, hence the rounds.
  std::atomic<int> arrived{0};
  std::atomic<int> round_open{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, seed, &arrived, &round_open] {
      std::mt19937 random(seed + static_cast<unsigned>(t));
      int i = 0;
      for (int round = 1; round <= kRounds; ++round) {
        arrived.fetch_add(1);
        while (round_open.load() < round) std::this_thread::yield();
        while (i < round * kPerRound) {
          const int run = std::min(round * kPerRound - i, static_cast<int>(random() % 2000));
          for (const int end = i + run; i < end; ++i) hw_step(t, i);
          if (random() % 4 == 0) hw_name_id(("name" + std::to_string(random() % 50)).c_str());
          if (random() % 4 == 0) std::this_thread::yield();
        }
      }
    });
  }
  bool room = true;
  for (int round = 1; round <= kRounds; ++round) {
    while (arrived.load() < round * kThreads) std::this_thread::yield();
    room = wait_for_room(kThreads * kPerRound + 1000) && room;
    round_open.store(round);
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(room);
  EXPECT_EQ(stats().dropped, 0u);
  hw_shutdown();
  const auto j = read_journal(path);
  EXPECT_EQ(j->loss.note, "") << "seed " << seed;
  std::map<std::int64_t, std::vector<std::int64_t>> by_thread;
  std::map<std::int64_t, std::set<std::uint16_t>> lanes;
  for (const auto& e : j->events) {
    by_thread[e.a].push_back(e.b);
    lanes[e.a].insert(e.lane);
  }
  ASSERT_EQ(by_thread.size(), static_cast<std::size_t>(kThreads));
  std::set<std::uint16_t> all;
  for (const auto& [thread, numbers] : by_thread) {
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(kRecords)) << "seed " << seed;
    for (int i = 0; i < kRecords; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(lanes[thread].size(), 1u);
    all.insert(*lanes[thread].begin());
  }
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kThreads));
  EXPECT_FALSE(all.count(0));
}

// hw_shutdown() while others record: no crash, and what was committed is there.
TEST(Recorder, ShutdownAndInitUnderFire) {
  const TempDir dir;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&stop, t] {
      while (!stop.load(std::memory_order_relaxed)) {
        for (int i = 0; i < 50; ++i) hw_step(t, i);
        hw_attr("key", "value");
        std::this_thread::yield();
      }
    });
  }
  std::vector<std::string> paths;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(init_in(dir.path()), 0);
    paths.push_back(hw_journal_path());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    hw_shutdown();
  }
  stop.store(true);
  for (auto& thread : threads) thread.join();
  for (const auto& path : paths) {
    const auto j = read_journal(path);
    EXPECT_TRUE(j->status.ok());
    EXPECT_EQ(j->loss.damaged_records, 0u) << j->loss.note;
    EXPECT_EQ(j->loss.uncommitted_records, 0u) << j->loss.note;
  }
}

TEST(Recorder, AJournalIsReadWhileItIsWritten) {
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  constexpr int kRecords = 40000;
  ASSERT_TRUE(wait_for_room(kRecords + 1000));
  event::NameTable names;
  auto reader = JournalReader::open(hw_journal_path(), names);
  ASSERT_TRUE(reader.ok());
  std::thread writer([] {
    for (int i = 0; i < kRecords; ++i) {
      hw_step(i, i);
      if (i % 100 == 0) std::this_thread::yield();
    }
  });
  std::int64_t expect = 0;
  while (expect < kRecords) {
    for (const auto& e : (*reader)->next()) ASSERT_EQ(e.a, expect++);
  }
  writer.join();
  EXPECT_TRUE((*reader)->next().empty());
  hw_shutdown();
  (*reader)->set_final();
  EXPECT_TRUE((*reader)->next().empty());
  EXPECT_EQ((*reader)->loss().note, "");
}

TEST(Recorder, TheBackgroundThreadHasANameAndTakesNoSignals) {
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  bool found = false;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    std::string name;
    std::getline(comm, name);
    if (name != "headway") continue;
    found = true;
    std::ifstream status(task.path() / "status");
    std::string line;
    while (std::getline(status, line)) {
      if (!line.starts_with("SigBlk:")) continue;
      const auto mask = std::stoull(line.substr(7), nullptr, 16);
      for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD, SIGXFSZ, SIGALRM}) {
        EXPECT_NE(mask & (1ull << (signal - 1)), 0u) << signal;
      }
    }
  }
  EXPECT_TRUE(found);
  hw_shutdown();
}

std::set<std::string> keepers() {
  std::set<std::string> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    std::string name;
    std::getline(comm, name);
    if (name == "headway") found.insert(task.path().filename());
  }
  return found;
}

// A thread that has ended shows in /proc a moment longer; on a busy machine, longer than pause()
// waits for it.
bool keeper_goes() {
  for (int i = 0; i < 10'000; ++i) {
    if (keepers().empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(Recorder, TheBackgroundThreadCanPause) {
  const TempDir dir;
  hw_pause();  // nothing to pause
  hw_resume();
  ASSERT_EQ(init_in(dir.path()), 0);
  const std::string path = hw_journal_path();
  const auto before = keepers();
  EXPECT_EQ(before.size(), 1u);
  for (int i = 0; i < 50; ++i) {
    hw_pause();
    ASSERT_TRUE(keeper_goes());
    hw_pause();
    hw_step_end(i, i);
    hw_resume();
    hw_resume();
    ASSERT_EQ(keepers().size(), 1u);
  }
  EXPECT_NE(keepers(), before);
  ASSERT_TRUE(wait_for_room(60'000));  // it grows the journal as before
  hw_pause();
  hw_shutdown();
  hw_resume();
  EXPECT_TRUE(keeper_goes());
  const auto j = read_journal(path);
  EXPECT_EQ(j->loss.note, "");
  EXPECT_EQ(std::count_if(j->events.begin(), j->events.end(),
                          [](const auto& e) { return e.type == event::EventType::step_end; }),
            50);
}

}  // namespace
}  // namespace headway::record
