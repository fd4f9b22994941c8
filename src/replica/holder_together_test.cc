// Holders of several machines: processes of their own, which are killed for real, with a folder of
// replicas each and one folder of checkpoints. The trainers are here, over the real sockets.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/file_system.h"
#include "base/temp_dir.h"
#include "checkpoint/folder.h"
#include "replica/holder.h"
#include "replica/trainer.h"

extern char** environ;

namespace headway::replica {
namespace {

using checkpoint::DType;
constexpr std::int64_t kLongNs = 60'000'000'000;
constexpr std::int64_t kShortNs = 300'000'000;
constexpr std::size_t kBytes = 5'000'001;
constexpr const char* kFolderKey = "HEADWAY_TEST_HOLD";
constexpr const char* kLimitsKey = "HEADWAY_TEST_LIMITS";
constexpr int kStopFd = 3;

// Not a test: what a holder's process runs, until its pipe ends.
TEST(HolderOfOneMachine, DISABLED_Run) {
  const char* const folder = std::getenv(kFolderKey);
  const char* const limits = std::getenv(kLimitsKey);
  if (folder == nullptr || limits == nullptr) GTEST_SKIP() << "started by the tests below";
  HolderOptions options;
  options.folder = folder;
  options.orphan_ns = -1;
  options.linger_ns = -1;
  std::istringstream numbers(limits);
  numbers >> options.together.quiet_ns >> options.together.end_ns >> options.together.next_ns;
  auto holder = Holder::open(std::move(options));
  ASSERT_TRUE(holder.ok()) << holder.status().message();
  const base::Status status = (*holder)->run(kStopFd);
  EXPECT_TRUE(status.ok()) << status.message();
}

class Node {
 public:
  Node(std::string folder, TogetherLimits limits) : folder_(std::move(folder)), limits_(limits) {
    start();
  }
  ~Node() { kill(); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  void start() {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const base::UniqueFd read_end(ends[0]);
    alive_.reset(ends[1]);
    std::vector<std::string> variables = {
        fmt::format("{}={}", kFolderKey, folder_),
        fmt::format("{}={} {} {}", kLimitsKey, limits_.quiet_ns, limits_.end_ns, limits_.next_ns)};
    std::vector<char*> environment;
    for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
    for (std::string& each : variables) environment.push_back(each.data());
    environment.push_back(nullptr);
    std::string words[] = {"test", "--gtest_filter=HolderOfOneMachine.*",
                           "--gtest_also_run_disabled_tests"};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, read_end.get(), kStopFd);
    const std::string log = folder_ + ".log";
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    ASSERT_EQ(::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv, environment.data()),
              0);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void tell_to_end() { alive_.reset(); }
  // True: all was written.
  bool wait_for_end() {
    int how = 0;
    ::waitpid(pid_, &how, 0);
    pid_ = 0;
    return WIFEXITED(how) && WEXITSTATUS(how) == 0;
  }

 private:
  const std::string folder_;
  const TogetherLimits limits_;
  base::UniqueFd alive_;
  pid_t pid_ = 0;
};

class HolderTogether : public testing::Test {
 protected:
  // `ranks` of each machine.
  void make(std::vector<std::uint32_t> ranks, TogetherLimits limits = {kLongNs, kLongNs, kLongNs}) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      nodes_.push_back(std::make_unique<Node>(fmt::format("{}/shm-{}", dir_.path(), i), limits));
      for (std::uint32_t r = 0; r < ranks[i]; ++r) node_of_.push_back(i);
    }
    sizes_ = std::move(ranks);
    start_ranks(1);
  }
  void start_ranks(std::uint64_t attempt) {
    ranks_.clear();
    for (std::uint32_t rank = 0; rank < node_of_.size(); ++rank) {
      ranks_.push_back(std::make_unique<Rank>(*this, rank, attempt));
    }
  }
  bool save_on(std::size_t node, std::uint64_t step, bool persist) {
    bool all = true;
    for (std::uint32_t rank = 0; rank < node_of_.size(); ++rank) {
      if (node_of_[rank] == node) all = ranks_[rank]->save(step, persist) && all;
    }
    return all;
  }
  bool save(std::uint64_t step, bool persist) {
    bool all = true;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      all = save_on(node, step, persist) && all;
    }
    return all;
  }
  // On every rank.
  bool all_told(Say say, std::uint64_t step) {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [&](const auto& rank) { return rank->told(say, step); });
  }
  void end_all() {
    for (const auto& node : nodes_) node->tell_to_end();
    for (const auto& node : nodes_) EXPECT_TRUE(node->wait_for_end()) << log_of(*node);
  }
  static std::string log_of(const Node& node) {
    std::ifstream file(node.folder() + ".log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The newest first; all of them are good, of one step in all ranks, and nothing else is there.
  std::vector<std::uint64_t> steps_on_disk() {
    std::vector<std::uint64_t> steps;
    auto names = folder_.list();
    for (const auto& name : *names) {
      EXPECT_TRUE(folder_.verify(name).ok()) << folder_.verify(name).message();
      auto manifest = folder_.read(name);
      EXPECT_EQ(manifest->files.size(), node_of_.size());
      for (const auto& file : manifest->files) {
        std::ifstream in(folder_.path_of(name) + "/" + file.name, std::ios::binary);
        in.seekg(4096);
        EXPECT_EQ(static_cast<unsigned>(in.get()), byte_of(name.step, file.rank)) << file.name;
      }
      steps.push_back(name.step);
    }
    return steps;
  }
  [[nodiscard]] std::vector<std::string> parts_left() const {
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename();
      if (name.starts_with(checkpoint::parts_prefix)) left.push_back(name);
    }
    return left;
  }
  static unsigned byte_of(std::uint64_t step, std::uint32_t rank) {
    return static_cast<unsigned>(step * 16 + rank) & 0xFF;
  }

  class Rank {
   public:
    Rank(HolderTogether& test, std::uint32_t rank, std::uint64_t attempt)
        : rank_(rank), memory_(kBytes), trainer_(options(test, rank, attempt), 1) {}

    bool save(std::uint64_t step, bool persist) {
      if (trainer_.stage() == nullptr) {
        EXPECT_TRUE(trainer_.plan({{{"w", DType::u8, {kBytes}, {0}}, true}}, 3).ok());
      }
      const auto slot = trainer_.wait_for_slot(kLongNs) ? trainer_.begin() : nullptr;
      EXPECT_TRUE(slot) << trainer_.refusal();
      if (!slot) return false;
      std::memset(memory_.data(), static_cast<int>(byte_of(step, rank_)), kBytes);
      const Source source{.at = memory_.data()};
      trainer_.fill(slot, {step, static_cast<std::int64_t>(step), 5, persist}, {&source, 1});
      return true;
    }
    bool told(Say say, std::uint64_t step) {
      std::unique_lock lock(mutex_);
      return changed_.wait_for(lock, std::chrono::seconds(60), [&] {
        return std::any_of(news_.begin(), news_.end(), [&](const Message& message) {
          return message.say == say && message.step == step;
        });
      });
    }
    // What became of it, whatever it was.
    bool settled(std::uint64_t step) {
      std::unique_lock lock(mutex_);
      return changed_.wait_for(lock, std::chrono::seconds(60), [&] {
        return std::any_of(news_.begin(), news_.end(), [&](const Message& message) {
          return message.step == step || (message.say == Say::durable && message.step > step);
        });
      });
    }
    std::string said(Say say) {
      const std::lock_guard lock(mutex_);
      for (const Message& message : news_) {
        if (message.say == say) return message.text;
      }
      return "";
    }
    Trainer& trainer() { return trainer_; }

   private:
    LinkOptions options(HolderTogether& test, std::uint32_t rank, std::uint64_t attempt) {
      LinkOptions options;
      const std::size_t node = test.node_of_[rank];
      options.folder = test.nodes_[node]->folder();
      options.hello.rank = rank;
      options.hello.world_size = static_cast<std::uint32_t>(test.node_of_.size());
      options.hello.local_world_size = test.sizes_[node];
      options.hello.attempt = attempt;
      options.hello.run = attempt * 1000;
      options.hello.job = "test";
      options.hello.folder = test.folder_.path();
      options.hello.keep_last = test.keep_last_;
      options.on_news = [this](const Message& message) {
        const std::lock_guard lock(mutex_);
        news_.push_back(message);
        changed_.notify_all();
      };
      return options;
    }

    const std::uint32_t rank_;
    std::vector<std::byte> memory_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Message> news_;
    Trainer trainer_;
  };

  base::TempDir dir_;
  checkpoint::CheckpointFolder folder_{base::real_file_system(), dir_.path() + "/checkpoints"};
  std::uint32_t keep_last_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::size_t> node_of_;  // by rank
  std::vector<std::uint32_t> sizes_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

TEST_F(HolderTogether, AStepOfAllMachinesIsOneCheckpointAndAllAreTold) {
  keep_last_ = 2;
  make({2, 1, 2});
  for (const std::uint64_t step : {10, 20, 30}) {
    ASSERT_TRUE(save(step, true));
    ASSERT_TRUE(all_told(Say::durable, step));
  }
  EXPECT_EQ(steps_on_disk(), (std::vector<std::uint64_t>{30, 20})) << "the first one thins out";
  EXPECT_EQ(ranks_[4]->said(Say::durable), "step-00000010-000001");
  EXPECT_TRUE(parts_left().empty());
  for (const auto& rank : ranks_) rank->trainer().bye();
  ranks_.clear();
  end_all();
  EXPECT_EQ(steps_on_disk(), (std::vector<std::uint64_t>{30, 20}));
  EXPECT_TRUE(parts_left().empty()) << "a good end leaves nothing";
  for (const auto& node : nodes_) EXPECT_FALSE(std::filesystem::exists(node->folder()));
}

TEST_F(HolderTogether, AHolderThatIsKilledIsFollowedByOneThatGoesOn) {
  make({1, 1});
  std::uint64_t step = 10;
  for (const std::size_t killed : {0U, 1U}) {
    // Its ranks have saved, the others not yet: what it wrote so far counts.
    ASSERT_TRUE(save_on(killed, ++step, true));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    nodes_[killed]->kill();
    nodes_[killed]->start();
    ASSERT_TRUE(save_on(1 - killed, step, true));
    ASSERT_TRUE(all_told(Say::durable, step)) << log_of(*nodes_[0]) << log_of(*nodes_[1]);
    // And the other way round: the others wait.
    ASSERT_TRUE(save_on(1 - killed, ++step, true));
    nodes_[killed]->kill();
    nodes_[killed]->start();
    ASSERT_TRUE(save_on(killed, step, true));
    ASSERT_TRUE(all_told(Say::durable, step)) << log_of(*nodes_[0]) << log_of(*nodes_[1]);
  }
  EXPECT_EQ(steps_on_disk(), (std::vector<std::uint64_t>{14, 13, 12, 11}));
}

TEST_F(HolderTogether, AMachineThatNeverComesCostsOneSave) {
  make({1, 1}, {kShortNs, kShortNs, kShortNs});
  ASSERT_TRUE(save_on(0, 10, true));
  ASSERT_TRUE(ranks_[0]->told(Say::failed, 10));
  EXPECT_NE(ranks_[0]->said(Say::failed).find("nothing has come from the machine of rank 1"),
            std::string::npos)
      << ranks_[0]->said(Say::failed);
  ASSERT_TRUE(save_on(1, 10, true));
  ASSERT_TRUE(ranks_[1]->told(Say::failed, 10)) << "it can only fail by now";
  ASSERT_TRUE(save_on(1, 20, true));
  ASSERT_TRUE(ranks_[1]->told(Say::failed, 20)) << "nor does it wait for the first machine";
  for (std::uint64_t step = 30; step < 34; ++step) {
    ASSERT_TRUE(save_on(1, step, false)) << "no slot stays pinned";
  }
}

TEST_F(HolderTogether, TheNextAttemptDoesNotWaitForTheDeadOfTheLast) {
  make({1, 1}, {kLongNs * 10, kShortNs, kShortNs});
  for (const std::size_t node : {0U, 1U}) ASSERT_TRUE(save_on(node, 10 + node, true));
  start_ranks(2);
  ASSERT_TRUE(save(12, true));
  ASSERT_TRUE(all_told(Say::durable, 12));
  EXPECT_EQ(steps_on_disk(), std::vector<std::uint64_t>{12});
}

TEST_F(HolderTogether, AtTheEndTheNewestThatAllHaveIsWritten) {
  make({1, 1, 1});
  ASSERT_TRUE(save(1, true));
  ASSERT_TRUE(all_told(Say::durable, 1));
  for (const std::uint64_t step : {2, 3}) ASSERT_TRUE(save(step, false));
  ASSERT_TRUE(save_on(0, 4, false));
  ASSERT_TRUE(save_on(2, 4, false));
  ranks_.clear();
  end_all();
  EXPECT_EQ(steps_on_disk(), (std::vector<std::uint64_t>{3, 1}));
  EXPECT_TRUE(parts_left().empty());
}

TEST_F(HolderTogether, AtTheEndWhatIsOnDiskIsNotWrittenAgain) {
  make({1, 1});
  ASSERT_TRUE(save(1, true));
  ASSERT_TRUE(all_told(Say::durable, 1));
  ASSERT_TRUE(save_on(1, 2, false));
  ranks_.clear();
  end_all();
  EXPECT_EQ(steps_on_disk(), std::vector<std::uint64_t>{1});
}

TEST_F(HolderTogether, AtTheEndAMachineThatIsGoneIsNotWaitedForLong) {
  make({1, 1}, {kLongNs, kShortNs, kShortNs});
  ASSERT_TRUE(save(1, false));
  nodes_[1]->kill();
  ranks_.clear();
  nodes_[0]->tell_to_end();
  EXPECT_FALSE(nodes_[0]->wait_for_end());
  EXPECT_NE(log_of(*nodes_[0]).find("have not told which step they have"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(nodes_[0]->folder())) << "it is the only copy";
  EXPECT_TRUE(parts_left().empty());
}

// Rank 0 goes to another machine: the folder's lock goes with it.
TEST_F(HolderTogether, AnotherMachineMayCommitInTheNextAttempt) {
  make({1, 1}, {kLongNs, kShortNs, kShortNs});
  ASSERT_TRUE(save(10, true));
  ASSERT_TRUE(all_told(Say::durable, 10));
  std::swap(nodes_[0], nodes_[1]);
  start_ranks(2);
  ASSERT_TRUE(save(20, true));
  ASSERT_TRUE(all_told(Say::durable, 20)) << log_of(*nodes_[0]) << log_of(*nodes_[1]);
  EXPECT_EQ(steps_on_disk(), (std::vector<std::uint64_t>{20, 10}));
}

TEST_F(HolderTogether, WhoeverIsKilledWhenever) {
  const auto seed = std::random_device()();
  std::mt19937 random(seed);
  fmt::print("seed {}\n", seed);
  SCOPED_TRACE(fmt::format("seed {}", seed));
  make({1, 2, 1});
  std::uint64_t step = 0;
  for (int round = 0; round < 12; ++round) {
    std::thread killer([&, victim = random() % 3, more = random() % 4,
                        wait = std::chrono::microseconds(random() % 60'000)] {
      std::this_thread::sleep_for(wait);
      nodes_[victim]->kill();
      nodes_[victim]->start();
      if (more != 0) return;
      nodes_[(victim + 1) % 3]->kill();
      nodes_[(victim + 1) % 3]->start();
    });
    const bool saved = save(++step, true);
    const bool persists = random() % 2 == 0;
    const bool staged = saved && save(++step, persists);
    killer.join();
    ASSERT_TRUE(saved && staged);
    for (const auto& rank : ranks_) {
      ASSERT_TRUE(rank->settled(persists ? step : step - 1)) << "round " << round;
    }
  }
  // A holder that has not heard of a rank since it was started knows of no folder to write to.
  ASSERT_TRUE(save(++step, true));
  ASSERT_TRUE(all_told(Say::durable, step));
  ASSERT_TRUE(save(++step, false));
  ranks_.clear();
  end_all();
  const auto steps = steps_on_disk();
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.front(), step);
  EXPECT_TRUE(std::is_sorted(steps.rbegin(), steps.rend())) << "in their order, each once";
  EXPECT_EQ(std::adjacent_find(steps.begin(), steps.end()), steps.end());
  EXPECT_TRUE(parts_left().empty());
}

}  // namespace
}  // namespace headway::replica
