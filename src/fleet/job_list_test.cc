#include "fleet/job_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headway::fleet {
namespace {

using ::testing::ElementsAre;

AttemptFacts attempt(std::int64_t id, std::int64_t begin_ns, std::int64_t end_ns, Ending ending,
                     const char* family = "dlrm") {
  AttemptFacts facts;
  facts.attempt = id;
  facts.dimensions[0] = family;
  facts.devices = 8;
  facts.begin_ns = begin_ns;
  facts.end_ns = end_ns;
  facts.ending = ending;
  Slice slice;
  slice.sums[timeline::Bucket::effective] = (end_ns - begin_ns) / 2;
  slice.sums[timeline::Bucket::down] = (end_ns - begin_ns) - (end_ns - begin_ns) / 2;
  facts.slices = {slice};
  return facts;
}

std::vector<std::string_view> names(const JobList& list) {
  std::vector<std::string_view> out;
  for (const ListedJob& job : list.jobs) out.push_back(job.job);
  return out;
}

class JobListTest : public ::testing::Test {
 protected:
  JobListTest() {
    table_.upsert("old", attempt(1, 100, 200, Ending::clean));
    AttemptFacts failed = attempt(1, 300, 400, Ending::failed, "llm");
    failed.failure = FailureFact{390, Origin::infra, "gpu_ecc", "", 10, 0, {}};
    table_.upsert("twice", failed);
    table_.upsert("twice", attempt(2, 400, 600, Ending::running, "llm"));
    table_.upsert("lost", attempt(1, 300, 350, Ending::running));
    question_.now_ns = 650;
    question_.silent_ns = 100;
  }
  JobList list() { return list_jobs(*table_.snapshot(), question_); }

  FleetTable table_;
  JobQuestion question_;
};

TEST_F(JobListTest, TheLastBegunFirst) {
  const JobList all = list();
  EXPECT_THAT(names(all), ElementsAre("lost", "twice", "old"));
  EXPECT_FALSE(all.more);
  EXPECT_EQ(all.jobs[0].state, JobState::unended);
  const ListedJob& twice = all.jobs[1];
  EXPECT_EQ(twice.state, JobState::running);
  EXPECT_EQ(twice.attempts, 2u);
  EXPECT_EQ(twice.failures, 1u);
  EXPECT_EQ(twice.wall_ns, 300);
  EXPECT_EQ(twice.effective_ns, 150);
  EXPECT_EQ(twice.dimensions[0], "llm");
  EXPECT_EQ(twice.dimensions[4], "");  // as given: the size is facts_of's to say
  EXPECT_EQ(all.jobs[2].state, JobState::finished);
}

TEST_F(JobListTest, PagesHoldEachJobOnce) {
  question_.limit = 1;
  std::vector<std::string> seen;
  while (true) {
    const JobList page = list();
    ASSERT_EQ(page.jobs.size(), 1u);
    seen.emplace_back(page.jobs[0].job);
    if (!page.more) break;
    question_.behind = JobCursor{page.jobs[0].begin_ns, seen.back()};
  }
  EXPECT_THAT(seen, ElementsAre("lost", "twice", "old"));
}

TEST_F(JobListTest, ChosenByWhatTheyAre) {
  question_.where = {{Dimension::family, "llm"}};
  EXPECT_THAT(names(list()), ElementsAre("twice"));
  question_.where.clear();
  question_.text = "l";
  EXPECT_THAT(names(list()), ElementsAre("lost", "old"));
  question_.state = JobState::finished;
  EXPECT_THAT(names(list()), ElementsAre("old"));
  EXPECT_EQ(job_state_of("unended"), JobState::unended);
  EXPECT_FALSE(job_state_of("odd"));
}

}  // namespace
}  // namespace headway::fleet
