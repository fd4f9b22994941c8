#include "agent/stacks.h"

#include <gtest/gtest.h>

namespace headway::agent {
namespace {

constexpr const char* kFaulthandler =
    "Thread 0x00007f1 (most recent call first):\n"
    "  File \"/venv/lib/python3.11/site-packages/torch/utils/data/worker.py\", line 9 in run\n"
    "\n"
    "Current thread 0x00007f2 (most recent call first):\n"
    "  File \"/job/data.py\", line 33 in load\n"
    "  File \"/job/train.py\", line 7 in <module>\n";

constexpr const char* kPySpy =
    "Process 123: python train.py\n"
    "Python v3.11.7 (/usr/bin/python3.11)\n"
    "\n"
    "Thread 124 (active): \"Thread-1\"\n"
    "    run (worker.py:9)\n"
    "Thread 123 (idle): \"MainThread\"\n"
    "    __futex_abstimed_wait_common (libc.so.6)\n"
    "    c10d::ProcessGroupGloo::AsyncWork::wait (libtorch_cpu.so)\n"
    "    all_reduce (torch/distributed/distributed_c10d.py:2810)\n"
    "    main (train.py:12)\n";

TEST(Stacks, TheMainThreadIsFoundInBothForms) {
  const auto fault = main_thread(kFaulthandler);
  ASSERT_EQ(fault.size(), 2u);
  EXPECT_EQ(fault[0].function, "load");
  EXPECT_EQ(fault[0].line, 33);
  const auto spy = main_thread(kPySpy);
  ASSERT_EQ(spy.size(), 4u);
  EXPECT_EQ(spy[3].function, "main");
  EXPECT_EQ(spy[3].line, 12);
  EXPECT_TRUE(main_thread("").empty());
  EXPECT_TRUE(main_thread("Thread \nFile\n    (\n    x ()\n").empty());
}

TEST(Stacks, WhoWaitsAndWhoKeepsThemWaiting) {
  const auto busy = main_thread(kFaulthandler);
  const auto waiting = main_thread(kPySpy);
  EXPECT_FALSE(waits_for_peers(busy));
  EXPECT_TRUE(waits_for_peers(waiting));
  EXPECT_EQ(place_of(busy), "data.py:33 (load)");
  EXPECT_EQ(place_of(waiting), "train.py:12 (main)");

  RankState state;
  state.reports = true;
  state.step = 10;
  std::vector<RankState> ranks(3, state);
  EXPECT_EQ(find_laggard(ranks, {waiting, busy, waiting}), 1u);
  ranks[2].step = 9;
  EXPECT_EQ(find_laggard(ranks, {waiting, busy, waiting}), 2u) << "fewer steps say more";
  ranks[2].step = 10;
  ranks[2].last_ns = -1;
  EXPECT_EQ(find_laggard(ranks, {waiting, waiting, waiting}), 2u) << "silent first";
}

}  // namespace
}  // namespace headway::agent
