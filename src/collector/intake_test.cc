// What a commit may take of memory, whatever a batch unpacks to.
#include "collector/intake.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/temp_dir.h"
#include "ingest/batch.h"
#include "record/test_util.h"
#include "store/sqlite_store.h"

namespace headway::collector {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsOurs = false;  // a sanitizer keeps what was freed
#elif defined(__has_feature)
constexpr bool kMemoryIsOurs =
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
constexpr bool kMemoryIsOurs = true;
#endif

// Of this process, in MiB: "VmHWM" the most since most_begins(), "VmRSS" now.
std::size_t memory_mib(const std::string& which) {
  std::stringstream text;
  text << std::ifstream("/proc/self/status").rdbuf();
  const std::string status = text.str();
  return std::stoul(status.substr(status.find(which + ":") + which.size() + 1)) / 1024;
}
void most_begins() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

class CountedReply final : public net::Reply {
 public:
  CountedReply(std::atomic<int>& good, std::atomic<int>& bad) : good_(good), bad_(bad) {}
  void send(net::ServerAnswer answer) override { ++(answer.status == 200 ? good_ : bad_); }
  std::shared_ptr<net::AnswerStream> stream(net::ServerAnswer) override { return nullptr; }

 private:
  std::atomic<int>&good_, &bad_;
};

// As many slots as a batch may have, of nothing: some hundred bytes.
std::string bomb(const std::string& job) {
  record::JournalBytes journal;
  journal.fixed.attempt = 1;
  journal.fixed.rank = 0;
  journal.fixed.slots_max = ingest::slots_max;
  std::memset(journal.fixed.job, 0, sizeof(journal.fixed.job));
  job.copy(journal.fixed.job, sizeof(journal.fixed.job) - 1);
  record::finish_header(journal.fixed);
  const std::vector<event::Record> zeros(ingest::slots_max);
  ingest::ChunkRecord chunk{};
  chunk.journal = ingest::journal_id(journal.fixed);
  chunk.slots = ingest::slots_max;
  chunk.cursor = chunk.limit = ingest::slots_max;
  ingest::BatchWriter writer;
  writer.add_head(journal.fixed, "rank-00000.hwj");
  writer.add_chunk(chunk, zeros);
  const std::vector<std::byte> bytes = writer.finish(0);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Intake, BatchesThatUnpackToMuchAreNotAllInMemoryAtOnce) {
  constexpr int count = 100;  // 8 MiB each
  const base::TempDir dir;
  auto store = store::open_sqlite({dir.path() + "/store.db"});
  ASSERT_TRUE(store.ok());
  Jobs jobs(**store, {});
  IntakeOptions options;
  options.commit_gap_ns = 1'000'000'000;  // so that all of them wait for the second commit
  std::vector<Offered> offered;
  std::atomic<int> good{0}, bad{0};
  for (int i = 0; i < count; ++i) {
    const std::string job = fmt::format("job{}", i);
    offered.push_back({"t", job, 1, bomb(job), std::make_shared<CountedReply>(good, bad)});
    ASSERT_LT(offered.back().body.size(), 3000u);
  }
  most_begins();
  const std::size_t before_mib = memory_mib("VmRSS");
  {
    Intake intake(**store, jobs, options, [](const std::string& line) { ADD_FAILURE() << line; });
    for (Offered& each : offered) intake.offer(std::move(each));
    intake.drain();
    EXPECT_EQ(intake.counts().slots, std::uint64_t{count} * ingest::slots_max);
    EXPECT_GE(intake.counts().commits, 12u);
  }
  EXPECT_EQ(good, count);
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(jobs.size(), std::size_t{count});
  if (!kMemoryIsOurs) GTEST_SKIP() << "memory is not counted under a sanitizer";
  EXPECT_LT(memory_mib("VmHWM") - before_mib, 250u);
  EXPECT_LT(memory_mib("VmRSS") - before_mib, 120u);  // the jobs keep next to nothing of it
}

}  // namespace
}  // namespace headway::collector
